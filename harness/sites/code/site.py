"""The code host's routes."""

from harness.sites.code import issue, issues, members, merges, people, projects
from harness.sites.code.access import in_project
from harness.sites.code.issue import in_issue
from harness.sites.code.merges import in_merge
from harness.sites.code.schema import SCHEMA, seed
from harness.sites.web import Route, SiteApp

PROJECT = "/{owner}/{slug}"
ISSUE = PROJECT + "/-/issues/{iid}"
MERGE = PROJECT + "/-/merge_requests/{iid}"
MEMBER = PROJECT + "/-/members/{login}"

PEOPLE = (
    Route(path="/", view=people.home),
    Route(path="/login", view=people.login_form),
    Route(path="/login", view=people.login, method="POST"),
    Route(path="/logout", view=people.logout, method="POST"),
    Route(path="/help", view=people.guide),
    Route(path="/search", view=people.search),
    Route(path="/activity", view=people.activity),
    Route(path="/dashboard/todos", view=people.todos, login=True),
    Route(path="/dashboard/todos/done", view=people.finish_todos, method="POST", login=True),
    Route(path="/dashboard/todos/{todo}/done", view=people.finish_todo, method="POST", login=True),
    Route(path="/settings/profile", view=people.settings_form, login=True),
    Route(path="/settings/profile", view=people.save_settings, method="POST", login=True),
    Route(path="/__api__/member_role", view=members.member_role),
)
PROJECTS = (
    Route(path="/explore", view=projects.explore),
    Route(path="/graph", view=projects.graph),
    Route(path="/issues", view=issues.all_list),
    Route(path="/projects/new", view=projects.new_form, login=True),
    Route(path="/projects/new", view=projects.create, method="POST", login=True),
    Route(path="/{owner}", view=people.owner),
    Route(path=PROJECT, view=in_project(projects.overview)),
    Route(path=PROJECT + "/-/files/{file:path}", view=in_project(projects.file_view)),
    Route(path=PROJECT + "/-/raw/{file:path}", view=in_project(projects.raw_file)),
    Route(path=PROJECT + "/-/status", view=in_project(projects.status)),
    Route(path=PROJECT + "/-/star", view=in_project(projects.star), method="POST", login=True),
    Route(path=PROJECT + "/-/settings", view=in_project(projects.settings_form, "Maintainer"), login=True),
    Route(
        path=PROJECT + "/-/settings", view=in_project(projects.save_settings, "Maintainer"), method="POST", login=True
    ),
    Route(path=PROJECT + "/-/delete", view=in_project(projects.delete, "Owner"), method="POST", login=True),
    Route(path=PROJECT + "/-/labels", view=in_project(issues.labels)),
    Route(path=PROJECT + "/-/labels", view=in_project(issues.add_label, "Maintainer"), method="POST", login=True),
    Route(path=PROJECT + "/-/members", view=in_project(members.show)),
    Route(path=PROJECT + "/-/members", view=in_project(members.invite, "Maintainer"), method="POST", login=True),
    Route(path=MEMBER + "/role", view=in_project(members.change, "Maintainer"), method="POST", login=True),
    Route(path=MEMBER + "/remove", view=in_project(members.remove, "Maintainer"), method="POST", login=True),
)
WORK = (
    Route(path=PROJECT + "/-/issues", view=in_project(issues.project_list)),
    Route(path=PROJECT + "/-/issues", view=in_project(issue.create), method="POST", login=True),
    Route(path=PROJECT + "/-/issues/new", view=in_project(issue.new_form), login=True),
    Route(path=ISSUE, view=in_issue(issue.show)),
    Route(path=ISSUE + "/edit", view=in_issue(issue.edit_form, editing=True), login=True),
    Route(path=ISSUE + "/edit", view=in_issue(issue.save, editing=True), method="POST", login=True),
    Route(path=ISSUE + "/comment", view=in_issue(issue.comment), method="POST", login=True),
    Route(path=ISSUE + "/state", view=in_issue(issue.set_state, editing=True), method="POST", login=True),
    Route(path=PROJECT + "/-/merge_requests", view=in_project(merges.listing)),
    Route(path=PROJECT + "/-/merge_requests", view=in_project(merges.create, "Developer"), method="POST", login=True),
    Route(path=PROJECT + "/-/merge_requests/new", view=in_project(merges.new_form, "Developer"), login=True),
    Route(path=MERGE, view=in_merge(merges.show)),
    Route(path=MERGE + "/comment", view=in_merge(merges.comment), method="POST", login=True),
    Route(path=MERGE + "/state", view=in_merge(merges.set_state), method="POST", login=True),
)

SITE = SiteApp(
    name="code",
    title="Stemwork",
    schema=SCHEMA,
    seed=seed,
    routes=(*PEOPLE, *PROJECTS, *WORK),
    account=("maya", "maya-tide-41"),
    probe_path="/settings/profile",
)
