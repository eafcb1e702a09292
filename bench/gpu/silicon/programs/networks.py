"""Convolutions, recurrent layers, normalisations and losses, forward and backward (cuDNN)."""

IMAGES = [(2, 3, 16, 16), (4, 16, 33, 29), (8, 32, 28, 28), (1, 64, 56, 56)]
SEQUENCES = [(5, 3, 12, 16), (17, 8, 64, 64), (30, 16, 100, 128)]  # steps, batch, inputs, hidden


def results(torch):
    """Cases, and functions that give their tensors."""
    torch.backends.cudnn.enabled = True
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False
    generator = torch.Generator("cuda").manual_seed(4)
    functional = torch.nn.functional

    def numbers(kind, *shape):
        return torch.randn(*shape, generator=generator, device="cuda", dtype=torch.float32).to(kind)

    def gradients(function, *tensors):
        tensors = [tensor.detach().requires_grad_() for tensor in tensors]
        result = function(*tensors)
        return result, torch.autograd.grad(result.float().square().sum(), tensors)

    kinds = {"float32": torch.float32, "tf32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
    for name, kind in kinds.items():
        torch.backends.cudnn.allow_tf32 = name == "tf32"
        for images, channels, rows, columns in IMAGES:
            picture = numbers(kind, images, channels, rows, columns)
            for size, stride, dilation, groups in ((1, 1, 1, 1), (3, 1, 1, 1), (3, 2, 1, 1), (5, 1, 2, 1), (3, 1, 1, channels)):
                weights = numbers(kind, channels * (1 if groups > 1 else 2), channels // groups, size, size)
                case = f"{name}|{images}x{channels}x{rows}x{columns}|{size}-{stride}-{dilation}-{groups}"
                options = {"stride": stride, "dilation": dilation, "groups": groups, "padding": size // 2}
                yield f"conv|{case}", lambda: gradients(lambda x, w: functional.conv2d(x, w, **options), picture, weights)
                last = picture.contiguous(memory_format=torch.channels_last)
                yield f"conv-last|{case}", lambda: gradients(lambda x, w: functional.conv2d(x, w, **options), last, weights)
                options = {"stride": stride, "groups": groups, "padding": size // 2}
                back = weights.transpose(0, 1).contiguous() if groups == 1 else weights
                if groups == 1:
                    yield f"transposed|{case}", lambda: functional.conv_transpose2d(picture, back, **options)
            case = f"{name}|{images}x{channels}x{rows}x{columns}"
            scale, shift = numbers(torch.float32, channels), numbers(torch.float32, channels)
            yield f"batch-norm|{case}", lambda: gradients(lambda x, s, t: functional.batch_norm(x, None, None, s, t, True), picture, scale, shift)
            line = numbers(kind, images, channels, rows * columns)
            yield f"conv1d|{case}", lambda: gradients(functional.conv1d, line, numbers(kind, channels, channels, 7))
            if rows <= 33:
                volume = numbers(kind, images, channels, 5, rows // 2, columns // 2)
                yield f"conv3d|{case}", lambda: gradients(functional.conv3d, volume, numbers(kind, 8, channels, 3, 3, 3))
        if kind == torch.bfloat16:
            continue
        for steps, batch, inputs, hidden in SEQUENCES:
            for layer in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
                for both in (False, True):
                    torch.manual_seed(steps)
                    network = layer(inputs, hidden, num_layers=2, bidirectional=both).cuda().to(kind)
                    sequence = numbers(kind, steps, batch, inputs)
                    case = f"{name}|{layer.__name__}|{steps}x{batch}x{inputs}x{hidden}|{both}"
                    yield f"recurrent|{case}", lambda: gradients(lambda x: network(x)[0], sequence)
    for steps, batch, _, _ in SEQUENCES:
        labels = torch.randint(1, 20, (batch, 5), generator=generator, device="cuda").int().cpu()
        lengths = torch.full((batch,), steps, dtype=torch.int32)
        targets = torch.full((batch,), 5, dtype=torch.int32)
        scores = numbers(torch.float32, steps, batch, 20).log_softmax(2)
        yield f"ctc|{steps}x{batch}", lambda: gradients(lambda x: functional.ctc_loss(x, labels.flatten(), lengths, targets), scores)
