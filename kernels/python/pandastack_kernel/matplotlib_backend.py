"""Backend of matplotlib in a kernel (`module://pandastack_kernel.matplotlib_backend`): `plt.show()` gives results."""

from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

from . import figures


class FigureManager(FigureManagerBase):
    """Shows figures as results of the cell."""

    @classmethod
    def pyplot_show(cls, *, block=None):
        """Shows all figures; closes them too, except with `block=False`, which is for drawing on."""
        figures.show_all(close=block is not False)

    def show(self):
        """Shows one figure, which stays open to the end of the cell."""
        figures.show(self.canvas.figure)


class FigureCanvas(FigureCanvasAgg):
    """Agg canvas with a manager that shows."""

    manager_class = FigureManager
