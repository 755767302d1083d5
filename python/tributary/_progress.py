"""A progress bar for terminals and notebooks."""
import sys
import warnings

from ._errors import InputError
from ._inputs import plain_text


class Progress:
    """Receives the news of a run. `progress` is None (a bar if somebody watches), True, False or a function.

    Sources in warnings are named without the files in `folder`.
    """

    def __init__(self, progress, folder):
        self._folder = folder
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise InputError(f"progress must be True, False or a function; this is {type(progress).__name__}")
        self._function = progress if callable(progress) else None
        self._display = None
        self._bar = None
        self._last = None
        self._width = 0
        if self._function is None and progress is not False:
            self._bar = "notebook" if in_notebook() else "terminal" if progress or sys.stderr.isatty() else None

    def __call__(self, kind, value):
        event = self.event(kind, value)
        if event["kind"] == "warning":
            event["message"] = plain_text(event["message"], self._folder)
            warnings.warn(event["message"], stacklevel=3)
        if self._function is not None:
            self._function(event)
        elif self._bar and "share" in event:
            self._show(event)

    @staticmethod
    def event(kind, value):
        """The dictionary that a function receives."""
        if kind == "step":
            round_, rounds, step, steps = value
            done = (max(round_ - 1, 0) + (step / steps if steps else 0)) / rounds if rounds else 0
            return {"kind": kind, "round": round_, "rounds": rounds, "step": step, "steps": steps,
                    "share": min(done, 1.0)}
        if kind == "round":
            round_, rounds = value
            return {"kind": kind, "round": round_, "rounds": rounds, "share": round_ / rounds if rounds else 1.0}
        if kind == "warning":
            return {"kind": kind, "message": value}
        return {"kind": kind, "value": value}

    def _show(self, event):
        self._last = event
        share, text = event["share"], f"round {event['round']} of {event['rounds']}"
        if self._bar == "terminal":
            line = f"\r[{'#' * int(30 * share):30}] {100 * share:3.0f} %  {text}"
            sys.stderr.write(line.ljust(self._width))
            self._width = len(line)
            sys.stderr.flush()
            return
        from IPython.display import HTML, display
        page = HTML(f'<progress value="{share:.3f}" max="1"></progress> {text}')
        if self._display is None:
            self._display = display(page, display_id=True)
        else:
            self._display.update(page)

    def complete(self):
        """Fills the bar of a finished run, which may have stopped before its last round."""
        if self._last is not None and self._last["share"] < 1:
            self._show({**self._last, "share": 1.0})

    def close(self):
        """Ends the line of the terminal."""
        if self._bar == "terminal" and self._width:
            sys.stderr.write("\n")
            sys.stderr.flush()


def in_notebook():
    """Whether this is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
