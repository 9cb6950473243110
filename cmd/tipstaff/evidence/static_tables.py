"""What a gate takes for a way to reach objects that the text does not name, as data."""

from __future__ import annotations

import re

from tipstaff.evidence import python_origins
from tipstaff.evidence.capability_tables import DYNAMIC, METHODS
from tipstaff.evidence.python_origins import IMPORTERS

RUNNERS = frozenset({"builtins.eval", "builtins.exec", "builtins.compile"})
# These take the dotted name of what they look up.
FINDERS = python_origins.FINDERS | {"unittest.mock.patch"}
# These take the names of attributes.
PICKERS = frozenset({"operator.attrgetter", "operator.methodcaller"})
SCOPES = frozenset({"builtins.globals", "builtins.locals", "builtins.vars"})
# Of these the text itself tells what they reach, where it is a constant.
TOLD_BY_TEXT = RUNNERS | IMPORTERS | python_origins.FINDERS
# Writing out, and the errors that reading in may raise, make no code.
HARMLESS = frozenset(
    {
        *("pickle.dump", "pickle.dumps", "pickle.HIGHEST_PROTOCOL", "pickle.DEFAULT_PROTOCOL"),
        *("pickle.PickleError", "pickle.PicklingError", "pickle.UnpicklingError", "marshal.dump"),
    }
)

# Naming one of these, or what is below it, is a use of what is only made at run time.
REACHES = frozenset(
    {
        *("bdb", "cProfile.Profile().run", "cProfile.Profile().runctx", "mako.template.Template"),
        *("multiprocessing.reduction", "numexpr.evaluate", "pdb", "profile.Profile().run"),
        *("profile.Profile().runctx", "string.Formatter.get_field", "timeit.main"),
        *("tkinter.Tk().call", "tkinter.Tk().eval", "trace.Trace"),
        *("builtins.__build_class__", "builtins.__spec__", "dataclasses._create_fn"),
        *("_testcapi", "doctest", "encodings.search_function", "ensurepip", "idlelib"),
        *("importlib.metadata.EntryPoint", "importlib.metadata.entry_points"),
        *("inspect.getclosurevars", "inspect.getgeneratorlocals", "inspect.getinnerframes"),
        *("inspect.getcoroutinelocals", "inspect.getouterframes", "inspect.getmembers"),
        *(
            "inspect.getasyncgenlocals",
            "inspect.getmembers_static",
            "inspect.getmodule",
            "inspect.get_annotations",
        ),
        *("jinja2.Environment", "jinja2.Template", "logging.config.fileConfig"),
        *("logging.config.BaseConfigurator", "logging.config.DictConfigurator"),
        *("logging.config.listen", "multiprocessing.spawn", "optparse.Values", "pydoc.importfile"),
        *("pydoc.resolve", "pydoc.safeimport", "xml.dom.domreg", "xml.dom.getDOMImplementation"),
        *("xmlrpc.server.resolve_dotted_attribute",),
        *("multiprocessing.connection", "multiprocessing.managers"),
        *("pkg_resources.iter_entry_points", "pkg_resources.load_entry_point"),
        *("pkgutil.find_loader", "pkgutil.get_importer", "pkgutil.get_loader"),
        *("pkgutil.walk_packages", "rlcompleter", "site.addpackage", "site.addsitedir"),
        *("string.Formatter().get_field", "sympy.sympify", "sys.breakpointhook"),
        *("sys.path_importer_cache", "tkinter.Tcl", "tkinter.Tk().tk", "traceback.walk_stack"),
        *("traceback.walk_tb", "typing.ForwardRef()._evaluate", "typing.get_type_hints"),
        *("typing._eval_type", "unittest.defaultTestLoader", "unittest.TestLoader"),
        *("warnings._getcategory", "xml.sax.make_parser", "__main__"),
    }
)

LOGGING = "logging.config.dictConfig"
# Methods of a dictionary that give what a name in the text names.
LOOKUPS = frozenset({"get", "pop"})
NAMESPACE = "the namespace of a class or module that is not of this text"
# An attribute of this name leads from any object to what the text does not name.
DOORS = frozenset(name for name, found in METHODS.items() if DYNAMIC in found) | frozenset(
    """
    __base__ __defaults__ __kwdefaults__ __loader__ __objclass__ __reduce__ __reduce_ex__ __self__ __spec__
    __subclasshook__ ag_code ag_frame cr_code enable_load_extension f_back f_code func_code func_globals get_code
    get_stack get_type_hints gi_code im_func im_self load_extension mro source_to_code
    """.split()
)
# Indexed, these lead to classes that the text does not name.
LINEAGE = frozenset({"__bases__", "__mro__"})
# What a format may ask of an object without leaving it.
_HARMLESS = "class|name|qualname|module|doc|dict"
FORMAT_WALK = re.compile(rf"\{{[^{{}}]*[.\[]__(?!(?:{_HARMLESS})__)\w+__")
# Whoever sets one of these says what relative imports, or all names, mean from then on.
SETTINGS = frozenset(
    {"__builtins__", "__loader__", "__name__", "__package__", "__path__", "__spec__"}
)
# Code in a text that makes no secret of being such.
CODE = re.compile(r"__\w+__\s*[(.\[]")
# Names that every module has as a constant; they are no calls.
CONSTANTS = frozenset({"__debug__", "__doc__", "__name__", "__package__", "__file__"})
# An exception keeps, as ``obj``, whatever lacked an attribute; these give exceptions.
ERROR_SOURCES = frozenset({"sys.exc_info", "sys.exception", "sys.last_exc", "sys.last_value"})
ERROR_ENDINGS = ("Error", "Exception", "Group")
ERROR_TAKERS = frozenset({"__aexit__", "__exit__"})
# Functions to which a module may be handed without being let out of sight, as the first argument.
KEEPERS = frozenset(
    {"builtins.getattr", "builtins.hasattr", "builtins.vars", "inspect.getattr_static"}
)
