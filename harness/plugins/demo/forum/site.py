"""The forum's routes."""

from harness.plugins.demo.forum import forms, pages
from harness.plugins.demo.forum.seed import ACCOUNT, SCHEMA, seed
from harness.plugins.demo.web import SiteApp, SiteRoute

SITE = SiteApp(
    name="forum",
    title="Lanternfold",
    schema=SCHEMA,
    seed=seed,
    account=ACCOUNT,
    probe_path="/settings",
    routes=(
        SiteRoute(path="/", view=pages.home),
        SiteRoute(path="/boards", view=pages.boards),
        SiteRoute(path="/b/{board}", view=pages.board),
        SiteRoute(path="/f/{board}", view=pages.old_address),
        SiteRoute(path="/b/{board}/subscribe", view=forms.subscribe, method="POST", login=True),
        SiteRoute(path="/b/{board}/{id:int}", view=pages.short_post),
        SiteRoute(path="/b/{board}/{id:int}/comment", view=forms.comment, method="POST", login=True),
        SiteRoute(path="/b/{board}/{id:int}/vote/{way}", view=forms.vote, method="POST", login=True),
        SiteRoute(path="/b/{board}/{id:int}/delete", view=forms.delete_post, method="POST", login=True),
        SiteRoute(path="/b/{board}/{id:int}/edit", view=forms.edit_form, login=True),
        SiteRoute(path="/b/{board}/{id:int}/edit", view=forms.edit, method="POST", login=True),
        SiteRoute(path="/b/{board}/{id:int}/{slug}", view=pages.post),
        SiteRoute(path="/submit", view=forms.submit_form, login=True),
        SiteRoute(path="/submit", view=forms.submit, method="POST", login=True),
        SiteRoute(path="/u/{name}", view=pages.person),
        SiteRoute(path="/search", view=pages.search),
        SiteRoute(path="/rules", view=pages.rules),
        SiteRoute(path="/subscriptions", view=forms.subscriptions, login=True),
        SiteRoute(path="/settings", view=forms.settings_form, login=True),
        SiteRoute(path="/settings", view=forms.settings, method="POST", login=True),
        SiteRoute(path="/register", view=forms.register_form),
        SiteRoute(path="/register", view=forms.register, method="POST"),
        SiteRoute(path="/login", view=forms.login_form),
        SiteRoute(path="/login", view=forms.login, method="POST"),
        SiteRoute(path="/logout", view=forms.logout, method="POST"),
        SiteRoute(path="/__api__/post/{id:int}", view=pages.post_address),
        SiteRoute(path="/__api__/latest_post", view=pages.latest_post),
    ),
)
