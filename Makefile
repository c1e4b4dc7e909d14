# Each target calls the place that knows.
PYTEST = .ci/venv && build/venv/bin/pytest

demo:
	tests/guest/demo

test:
	$(PYTEST) && build/venv/bin/pytest -m "guest or driver"

test-long: debug-kernel
	$(PYTEST) && GPUSHARE_LONG=1 build/venv/bin/pytest -m "guest or driver or full"

lint:
	$(PYTEST) tests/lint

bench:
	.ci/venv && build/venv/bin/python -m tests.bench

modules:
	tests/guest/build-modules

# Half an hour on two busy cores, once: see tests/guest/README.md.
debug-kernel:
	tests/guest/run --kernel debug --modules none -- true

# The cache (chroot, kernels, root image) stays: `rm -r build` takes that as well.
clean:
	[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name cache -exec rm -rf {} +

.PHONY: demo test test-long lint bench modules debug-kernel clean
