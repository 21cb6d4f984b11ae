# SPDX-License-Identifier: Apache-2.0
"""What bash offers after `vixen …`, by the script that `vixen completion bash` prints."""
import shutil
import subprocess
import tempfile
import unittest

from processes import BIN, vixen


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = vixen("completion", "bash").stdout

    def offers(self, *words):
        """The completions of the last word; the first is the program."""
        quoted = " ".join(f"'{word}'" for word in words)
        function = "_" + words[0].replace("-", "_")
        ask = f'COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; {function}; printf "%s\\n" "${{COMPREPLY[@]}}"'
        with tempfile.NamedTemporaryFile("w", suffix=".bash") as file:
            file.write(self.script)
            file.flush()
            done = subprocess.run(["bash", "--norc", "-euc", f"source {file.name}; {ask}"], capture_output=True,
                                  text=True, timeout=30)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_offers_commands_then_their_flags(self):
        self.assertEqual(self.offers("vixen", "im"), ["import"])
        self.assertLessEqual({"eval", "report", "collect", "completion"}, set(self.offers("vixen", "")))
        self.assertIn("csv", self.offers("vixen", "import", ""))
        self.assertEqual(self.offers("vixen", "import", "csv", "a.csv", "--adj"), ["--adjust"])
        self.assertIn("--launches", self.offers("vixen", "collect", "--actor", "127.0.0.1:1", "--l"))

    def test_values_do_not_lead_astray(self):
        # A value that is also a command's name stays a value.
        self.assertIn("--weights", self.offers("vixen", "eval", "--data", "report", "--w"))
        self.assertEqual(self.offers("vixen", "report", "eval", "--tr"), ["--training"])

    def test_config_print_takes_the_settings_of_both_programs_from_their_own_lists(self):
        self.assertEqual(self.offers("vixen", "config", "print", "--retain"), ["--retain_batches"])
        self.assertLessEqual({"--learner", "--comments"}, set(self.offers("vixen", "config", "print", "--")))

    def test_the_other_programs_have_their_flags(self):
        self.assertEqual(self.offers("vixen-actor", "--retain"), ["--retain_batches"])
        self.assertEqual(self.offers("vixen-actor", "--steps", "5", "--carry"), ["--carry_over"])
        self.assertEqual(self.offers("vixen-learner", "--batch"), ["--batch_size"])
        self.assertNotIn("--plant_reward_scale", self.offers("vixen-learner", "--"))

    def test_every_flag_that_it_offers_for_a_command_is_one(self):
        for path in (["eval"], ["import", "csv"], ["config", "check"], ["bench", "stream"]):
            helped = vixen(*path, "--help").stdout
            for flag in self.offers("vixen", *path, "--"):
                self.assertIn(flag, helped, path)

    def test_zsh_loads_what_the_script_needs_first(self):
        text = vixen("completion", "zsh").stdout
        self.assertTrue(text.startswith("autoload -Uz compinit bashcompinit\n"))
        self.assertTrue(text.endswith(self.script))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed (scripts/install_deps.sh --deploy)")
    def test_zsh_offers_the_same(self):
        with tempfile.NamedTemporaryFile("w", suffix=".zsh") as file:
            file.write(vixen("completion", "zsh").stdout)
            file.flush()
            for words in (("vixen", "im"), ("vixen", "import", "csv", "--resam"), ("vixen-actor", "--steps", "5", "--carry")):
                # As bashcompinit calls it.
                ask = (f"source {file.name}; emulate -L ksh; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
                       f"_{words[0].replace('-', '_')}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
                done = subprocess.run(["zsh", "-fc", ask], capture_output=True, text=True, timeout=30, cwd=tempfile.gettempdir())
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                # zsh itself leaves out what does not begin with the last word.
                self.assertEqual(sorted(done.stdout.split()), sorted(self.offers(*words[:-1], "")))


if __name__ == "__main__":
    unittest.main()
