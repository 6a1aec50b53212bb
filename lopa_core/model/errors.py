"""The exceptions of this room: a model that cannot be used, said in a sentence for a person."""


class ModelError(ValueError):
    """A checkpoint, config or tokenizer that is damaged, incomplete or not supported.

    Its message names what is wrong and what would do; it is shown as it is, on the page and on the command line.
    """


class DeviceError(ModelError):
    """What is wrong lies with the device: another one may do, or this one later."""


class NoRoom(DeviceError):
    """A device has no room for the model."""
