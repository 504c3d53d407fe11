"""The forum's routes."""

from harness.sites.forum import reading, writing
from harness.sites.forum.seed import ACCOUNT, SCHEMA, seed
from harness.sites.web import Route, SiteApp

SITE = SiteApp(
    name="forum",
    title="Lanternfold",
    schema=SCHEMA,
    seed=seed,
    account=ACCOUNT,
    probe_path="/settings",
    routes=(
        Route(path="/", view=reading.home),
        Route(path="/boards", view=reading.boards),
        Route(path="/b/{board}", view=reading.board),
        Route(path="/f/{board}", view=reading.old_address),
        Route(path="/b/{board}/subscribe", view=writing.subscribe, method="POST", login=True),
        Route(path="/b/{board}/{id:int}", view=reading.short_post),
        Route(path="/b/{board}/{id:int}/comment", view=writing.comment, method="POST", login=True),
        Route(path="/b/{board}/{id:int}/vote/{way}", view=writing.vote, method="POST", login=True),
        Route(path="/b/{board}/{id:int}/delete", view=writing.delete_post, method="POST", login=True),
        Route(path="/b/{board}/{id:int}/edit", view=writing.edit_form, login=True),
        Route(path="/b/{board}/{id:int}/edit", view=writing.edit, method="POST", login=True),
        Route(path="/b/{board}/{id:int}/{slug}", view=reading.post),
        Route(path="/submit", view=writing.submit_form, login=True),
        Route(path="/submit", view=writing.submit, method="POST", login=True),
        Route(path="/u/{name}", view=reading.person),
        Route(path="/search", view=reading.search),
        Route(path="/rules", view=reading.rules),
        Route(path="/subscriptions", view=writing.subscriptions, login=True),
        Route(path="/settings", view=writing.settings_form, login=True),
        Route(path="/settings", view=writing.settings, method="POST", login=True),
        Route(path="/register", view=writing.register_form),
        Route(path="/register", view=writing.register, method="POST"),
        Route(path="/login", view=writing.login_form),
        Route(path="/login", view=writing.login, method="POST"),
        Route(path="/logout", view=writing.logout, method="POST"),
        Route(path="/__api__/post/{id:int}", view=reading.post_address),
        Route(path="/__api__/latest_post", view=reading.latest_post),
    ),
)
