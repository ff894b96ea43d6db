"""The choice of a model: a filter over the catalogue, an id of the hub, or a config.json that is dropped."""

from __future__ import annotations

from bide.errors import BadInput
from bide.i18n import _, speaking
from bide.web.page import fit_view
from bide.web.page.elements import Live, Picker
from bide.web.page.models import fits_address, model_options, packed_config
from bide.web.page.visitor import Visitor


class ModelPicker:
    """Sets `model`, and `config` where a file was dropped; or the inputs that `turn` has named instead."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor, self._state = visitor, visitor.state
        self._model, self._config = "model", "config"
        self.id = f"model-{len(visitor.seen)}"
        words = {
            "none": _(
                "Nothing of that name in the catalogue. An id such as org/name is looked up where this server may."
            )
        }
        options = model_options(visitor.language)
        self._picker = Picker(self.id, _("Model"), self._state["model"], options, words, self._pick)
        self._drop = Live(on_act=self._forget, on_file=self._take)

    def turn(self, model: str, config: str) -> None:
        """From now on set these."""
        self._model, self._config = model, config

    def show(self) -> None:
        """The model in use, and what is wrong with it."""
        hint = (
            _("type to search {n} models, or paste a Hugging Face id")
            if self._visitor.settings.hub
            else _("type to search {n} models")
        )
        with speaking(self._visitor.language):
            self._picker.show(
                self._state.text(self._model),
                self._state.error(self._model),
                hint.format(n=len(model_options(self._visitor.language))),
            )
            self._drop.show(fit_view.drop(self._state, self._config))

    def _pick(self, _name: str, text: str) -> None:
        self._state.set(self._config, "")
        self._state.set(self._model, text)

    def _forget(self, _what: str, _value: str) -> None:
        self._state.set(self._config, "")

    def _take(self, _key: str, name: str, text: str) -> None:
        with speaking(self._visitor.language):
            try:
                packed = packed_config(text)
                if not fits_address(packed):
                    raise BadInput("config", name, _("a config.json of a few KiB"))
            except BadInput as error:
                self._state.blame(BadInput(self._config, error.given, error.allowed, error.hint), ())
                self.show()
                return
        self._state.set(self._model, name.removesuffix(".json") or "config")
        self._state.set(self._config, packed)
