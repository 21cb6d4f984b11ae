# SPDX-License-Identifier: Apache-2.0
"""What the tests of deploy/ and docker/ share. Programs exit with 77 (skipped) where a package is missing;
scripts/python_env.sh deploy, scripts/get_kubectl.sh and scripts/install_deps.sh --deploy install them."""
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = SOURCE / "deploy"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


try:
    import yaml
except ImportError as error:
    skip(error)


def need(program):
    path = shutil.which(program)
    if path is None:
        skip(f"{program} is not installed (scripts/install_deps.sh --deploy)")
    return path


def run(*command, check=True, **more):
    """A program to its end: output as text, its errors in the failure."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, **more)
    if check and done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done


def documents(path):
    with open(path, encoding="utf-8") as file:
        return [document for document in yaml.safe_load_all(file) if document]


def render(folder):
    """The objects of a kustomization, as kubectl would apply them."""
    kubectl = run(SOURCE / "scripts/get_kubectl.sh").stdout.strip()
    return [document for document in yaml.safe_load_all(run(kubectl, "kustomize", folder).stdout) if document]
