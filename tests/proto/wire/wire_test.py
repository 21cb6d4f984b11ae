# SPDX-License-Identifier: Apache-2.0
"""Messages only grow: every message, field, enum value and method of each frozen version (a folder here) is
still there under its number, name and type. A released version adds a folder: a copy of proto/vixen/v1.

That an old client still works is another test: wire_old_client runs the stock client with the oldest folder.
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    from google.protobuf import descriptor_pb2
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
NOW = HERE.parents[2] / "proto"
FROZEN = sorted(path for path in HERE.iterdir() if (path / "vixen").is_dir())


def facts(root):
    """{what: value} of all that a peer relies on."""
    files = sorted(str(path.relative_to(root)) for path in root.glob("vixen/v1/*.proto"))
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", "-I", root, "-I", "/usr/include", f"--descriptor_set_out={out.name}", *files],
                       check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes()).file
    found = {}

    def enum(prefix, kind):
        for value in kind.value:
            found[f"{prefix}.{kind.name} = {value.number}"] = value.name

    def message(prefix, kind):
        name = f"{prefix}.{kind.name}"
        found[name] = "message"
        for field in kind.field:
            in_oneof = kind.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""
            found[f"{name} field {field.number}"] = (field.name, field.type, field.label, field.type_name, in_oneof)
        for inner in kind.nested_type:
            message(name, inner)
        for inner in kind.enum_type:
            enum(name, inner)

    for file in files:
        for kind in file.message_type:
            message(file.package, kind)
        for kind in file.enum_type:
            enum(file.package, kind)
        for service in file.service:
            for method in service.method:
                found[f"{file.package}.{service.name}/{method.name}"] = (
                    method.input_type, method.output_type, method.client_streaming, method.server_streaming)
    return found


def breaks(old, new):
    return [f"{what} was {value} and is {new.get(what, 'gone')}" for what, value in old.items() if new.get(what) != value]


class Wire(unittest.TestCase):
    def test_nothing_of_a_frozen_version_changed(self):
        self.assertTrue(FROZEN)
        now = facts(NOW)
        for version in FROZEN:
            old = facts(version)
            self.assertGreater(len(old), 100)
            self.assertEqual(breaks(old, now), [], version.name)

    def test_each_kind_of_break_is_found(self):
        text = (NOW / "vixen/v1/actor.proto").read_text()
        changes = {
            "a number used for something else": ("string group = 2;", "string group = 12;"),
            "a field of another type": ("string group = 2;", "bytes group = 2;"),
            "a field renamed": ("string group = 2;", "string team = 2;"),
            "a field now repeated": ("string group = 2;", "repeated string group = 2;"),
            "a method gone": ("rpc GetInfo(GetInfoRequest) returns (GetInfoResponse);", ""),
            "a method that streams": ("rpc GetInfo(GetInfoRequest) returns (", "rpc GetInfo(GetInfoRequest) returns (stream "),
        }
        now = facts(NOW)
        for what, (before, after) in changes.items():
            with self.subTest(what), tempfile.TemporaryDirectory() as folder:
                self.assertIn(before, text)
                target = pathlib.Path(folder, "vixen/v1")
                target.mkdir(parents=True)
                for path in (NOW / "vixen/v1").glob("*.proto"):
                    (target / path.name).write_text(path.read_text())
                (target / "actor.proto").write_text(text.replace(before, after, 1))
                new = facts(pathlib.Path(folder))
                self.assertTrue(breaks(now, new), what)
        self.assertEqual(breaks(now, {**now, "vixen.v1.Open field 99": ("new", 9, 1, "", "")}), [])


if __name__ == "__main__":
    unittest.main()
