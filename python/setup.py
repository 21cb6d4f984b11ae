# SPDX-License-Identifier: Apache-2.0
"""Makes vixen/v1 from the project's .proto files when the package is built.

By grpcio-tools where it is installed (pip brings it), else by the protoc on the PATH.
"""
import importlib.util
import pathlib
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parent / "proto"
NAMES = ("batch", "weights", "actor", "config")


def generate(into):
    """Writes vixen/v1/*_pb2.py and their type hints below `into`."""
    files = [f"vixen/v1/{name}.proto" for name in NAMES]
    missing = [name for name in files if not (PROTO / name).exists()]
    if missing:
        raise SystemExit(f"{PROTO / missing[0]} is missing: build the package inside the project's tree")
    arguments = [f"-I{PROTO}", f"--python_out={into}", f"--pyi_out={into}", *files]
    if importlib.util.find_spec("grpc_tools") is not None:
        import grpc_tools.protoc
        include = pathlib.Path(grpc_tools.__file__).parent / "_proto"
        code = grpc_tools.protoc.main(["protoc", f"-I{include}", *arguments])
    else:
        code = subprocess.run(["protoc", *arguments], check=False).returncode
    if code != 0:
        sys.exit(f"protoc ended with {code}; it was called with {' '.join(arguments)}")


class BuildWithProtos(build_py):
    def run(self):
        super().run()
        generate(self.build_lib)
        (pathlib.Path(self.build_lib) / "vixen/v1/__init__.py").write_text(
            "# SPDX-License-Identifier: Apache-2.0\n\"\"\"Messages of the wire, made from the .proto files.\"\"\"\n")


setup(cmdclass={"build_py": BuildWithProtos})
