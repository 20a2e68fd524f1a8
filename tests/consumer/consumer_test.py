"""Installs what was built, builds and runs a project that finds it there, and runs its command.

    consumer_test.py BUILD TORCH_ROOT
"""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run(*command):
    print("$", *command, flush=True)
    subprocess.run(list(map(str, command)), check=True)


def shown(library):
    """The symbols that a library defines for others."""
    lines = subprocess.run(["nm", "--dynamic", "--demangle", "--defined-only", library], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return [line.split(maxsplit=2)[2] for line in lines]


def main():
    build, torch = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        prefix, project = pathlib.Path(folder, "prefix"), pathlib.Path(folder, "build")
        run("cmake", "--install", build, "--component", "cpp", "--prefix", prefix)
        moved = prefix.rename(pathlib.Path(folder, "moved"))  # nothing may name the first place
        symbols = shown(next(moved.rglob("libtorchdyn.so")))
        others = [s for s in symbols if "torchdyn::" not in s]
        if not symbols or others:
            sys.exit(f"of {len(symbols)} symbols these are not torchdyn's: {others}")
        run("cmake", "-S", HERE, "-B", project, f"-DCMAKE_PREFIX_PATH={moved}",
            f"-DTORCH_ROOT={torch}", "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", project, "--parallel", "2")
        run(project / "consumer")
        run(moved / "bin" / "torchdyn_replay", HERE / "graph.txt")


if __name__ == "__main__":
    main()
