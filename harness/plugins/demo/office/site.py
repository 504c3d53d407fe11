"""The back office's routes: nothing without a login, no change without being a manager."""

from starlette.responses import Response

from harness.plugins.demo.office import customers, orders, products, reports
from harness.plugins.demo.office.orders import in_order
from harness.plugins.demo.office.schema import SCHEMA, seed
from harness.plugins.demo.web import SiteApp, SiteRoute, View, Visit, safe_next


def login_form(visit: Visit) -> Response:
    return visit.page("office/login.html", problem="", next=safe_next(visit))


def login(visit: Visit) -> Response:
    if visit.sign_in(visit.field("login"), visit.field("password")):
        return visit.redirect(safe_next(visit))
    return visit.page("office/login.html", status=422, problem="Wrong user name or password.", next=safe_next(visit))


def logout(visit: Visit) -> Response:
    visit.sign_out()
    return visit.redirect("/login")


def shown(path: str, view: View) -> SiteRoute:
    """A page for all staff."""
    return SiteRoute(path=path, view=view, login=True)


def changing(path: str, view: View) -> SiteRoute:
    """A form for managers."""

    def answer(visit: Visit) -> Response:
        staff = visit.db.execute("SELECT manager FROM staff WHERE user_id = ?", (visit.me.id,)).fetchone()
        if not staff["manager"]:
            return visit.refuse(403, "Not allowed", "You may look at everything, but only managers may change it.")
        return view(visit)

    return SiteRoute(path=path, view=answer, method="POST", login=True)


SITE = SiteApp(
    name="office",
    title="Cobble Back Office",
    schema=SCHEMA,
    seed=seed,
    account=("admin", "admin-cobble-1"),
    routes=(
        SiteRoute(path="/login", view=login_form),
        SiteRoute(path="/login", view=login, method="POST"),
        SiteRoute(path="/logout", view=logout, method="POST", login=True),
        shown("/", reports.dashboard),
        shown("/top-five", reports.top_five),
        shown("/orders", orders.listing),
        changing("/orders", orders.bulk),
        shown("/orders/print", orders.printed),
        shown("/orders/{number}", in_order(orders.show)),
        shown("/orders/{number}/edit", in_order(orders.edit_form)),
        changing("/orders/{number}/edit", in_order(orders.save)),
        changing("/orders/{number}/status", in_order(orders.set_status)),
        changing("/orders/{number}/notes", in_order(orders.add_note)),
        shown("/orders/{number}/invoice", in_order(orders.invoice)),
        shown("/orders/{number}/slip", in_order(orders.slip)),
        shown("/products", products.listing),
        changing("/products", products.bulk),
        shown("/products/new", products.new_form),
        changing("/products/new", products.create),
        shown("/products/{product}", products.edit_form),
        changing("/products/{product}", products.save),
        changing("/products/{product}/delete", products.delete),
        shown("/customers", customers.listing),
        shown("/customers/new", customers.new_form),
        changing("/customers/new", customers.create),
        shown("/customers/{customer}", customers.show),
        shown("/customers/{customer}/edit", customers.edit_form),
        changing("/customers/{customer}/edit", customers.save),
        shown("/reports/sales", reports.sales),
        shown("/reports/bestsellers", reports.bestsellers),
        shown("/reports/forecast", reports.forecast),
    ),
)
