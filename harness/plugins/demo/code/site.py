"""The code host's routes."""

from harness.plugins.demo.code import issue, issues, members, merges, people, projects
from harness.plugins.demo.code.access import in_project
from harness.plugins.demo.code.issue import in_issue
from harness.plugins.demo.code.merges import in_merge
from harness.plugins.demo.code.schema import SCHEMA, seed
from harness.plugins.demo.web import SiteApp, SiteRoute

PROJECT = "/{owner}/{slug}"
ISSUE = PROJECT + "/-/issues/{iid}"
MERGE = PROJECT + "/-/merge_requests/{iid}"
MEMBER = PROJECT + "/-/members/{login}"

PEOPLE = (
    SiteRoute(path="/", view=people.home),
    SiteRoute(path="/login", view=people.login_form),
    SiteRoute(path="/login", view=people.login, method="POST"),
    SiteRoute(path="/logout", view=people.logout, method="POST"),
    SiteRoute(path="/help", view=people.guide),
    SiteRoute(path="/search", view=people.search),
    SiteRoute(path="/activity", view=people.activity),
    SiteRoute(path="/dashboard/todos", view=people.todos, login=True),
    SiteRoute(path="/dashboard/todos/done", view=people.finish_todos, method="POST", login=True),
    SiteRoute(path="/dashboard/todos/{todo}/done", view=people.finish_todo, method="POST", login=True),
    SiteRoute(path="/settings/profile", view=people.settings_form, login=True),
    SiteRoute(path="/settings/profile", view=people.save_settings, method="POST", login=True),
    SiteRoute(path="/__api__/member_role", view=members.member_role),
)
PROJECTS = (
    SiteRoute(path="/explore", view=projects.explore),
    SiteRoute(path="/graph", view=projects.graph),
    SiteRoute(path="/issues", view=issues.all_list),
    SiteRoute(path="/projects/new", view=projects.new_form, login=True),
    SiteRoute(path="/projects/new", view=projects.create, method="POST", login=True),
    SiteRoute(path="/{owner}", view=people.owner),
    SiteRoute(path=PROJECT, view=in_project(projects.overview)),
    SiteRoute(path=PROJECT + "/-/files/{file:path}", view=in_project(projects.file_view)),
    SiteRoute(path=PROJECT + "/-/raw/{file:path}", view=in_project(projects.raw_file)),
    SiteRoute(path=PROJECT + "/-/status", view=in_project(projects.status)),
    SiteRoute(path=PROJECT + "/-/star", view=in_project(projects.star), method="POST", login=True),
    SiteRoute(path=PROJECT + "/-/settings", view=in_project(projects.settings_form, "Maintainer"), login=True),
    SiteRoute(
        path=PROJECT + "/-/settings", view=in_project(projects.save_settings, "Maintainer"), method="POST", login=True
    ),
    SiteRoute(path=PROJECT + "/-/delete", view=in_project(projects.delete, "Owner"), method="POST", login=True),
    SiteRoute(path=PROJECT + "/-/labels", view=in_project(issues.labels)),
    SiteRoute(path=PROJECT + "/-/labels", view=in_project(issues.add_label, "Maintainer"), method="POST", login=True),
    SiteRoute(path=PROJECT + "/-/members", view=in_project(members.show)),
    SiteRoute(path=PROJECT + "/-/members", view=in_project(members.invite, "Maintainer"), method="POST", login=True),
    SiteRoute(path=MEMBER + "/role", view=in_project(members.change, "Maintainer"), method="POST", login=True),
    SiteRoute(path=MEMBER + "/remove", view=in_project(members.remove, "Maintainer"), method="POST", login=True),
)
WORK = (
    SiteRoute(path=PROJECT + "/-/issues", view=in_project(issues.project_list)),
    SiteRoute(path=PROJECT + "/-/issues", view=in_project(issue.create), method="POST", login=True),
    SiteRoute(path=PROJECT + "/-/issues/new", view=in_project(issue.new_form), login=True),
    SiteRoute(path=ISSUE, view=in_issue(issue.show)),
    SiteRoute(path=ISSUE + "/edit", view=in_issue(issue.edit_form, editing=True), login=True),
    SiteRoute(path=ISSUE + "/edit", view=in_issue(issue.save, editing=True), method="POST", login=True),
    SiteRoute(path=ISSUE + "/comment", view=in_issue(issue.comment), method="POST", login=True),
    SiteRoute(path=ISSUE + "/state", view=in_issue(issue.set_state, editing=True), method="POST", login=True),
    SiteRoute(path=PROJECT + "/-/merge_requests", view=in_project(merges.listing)),
    SiteRoute(
        path=PROJECT + "/-/merge_requests", view=in_project(merges.create, "Developer"), method="POST", login=True
    ),
    SiteRoute(path=PROJECT + "/-/merge_requests/new", view=in_project(merges.new_form, "Developer"), login=True),
    SiteRoute(path=MERGE, view=in_merge(merges.show)),
    SiteRoute(path=MERGE + "/comment", view=in_merge(merges.comment), method="POST", login=True),
    SiteRoute(path=MERGE + "/state", view=in_merge(merges.set_state), method="POST", login=True),
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
