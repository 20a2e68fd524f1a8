"""Installs what was built, builds and runs a project that finds it there, and runs its command.

    consumer_test.py BUILD TORCH_ROOT
"""
import pathlib
import struct
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
        others = [s for s in symbols if "torchdyn::" not in s and not s.startswith("torchdyn_")]
        if not symbols or others:
            sys.exit(f"of {len(symbols)} symbols these are not torchdyn's: {others}")
        run("cmake", "-S", HERE, "-B", project, f"-DCMAKE_PREFIX_PATH={moved}",
            f"-DTORCH_ROOT={torch}", "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", project, "--parallel", "2")
        run(project / "consumer", folder)
        run(moved / "bin" / "torchdyn_replay", HERE / "graph.txt")
        run(moved / "bin" / "torchdyn", "verify", f"{folder}/loss.td")
        client = pathlib.Path(folder, "c")
        run("cmake", "-S", HERE / "c", "-B", client, f"-DCMAKE_PREFIX_PATH={moved}")
        run("cmake", "--build", client)
        doubled = subprocess.run([client / "client", f"{folder}/twice.td", "2"], check=True,
                                 input=struct.pack("ff", 1.5, -3), capture_output=True).stdout
        if struct.unpack("ff", doubled) != (3, -6):
            sys.exit(f"the client in C gives {doubled}")


if __name__ == "__main__":
    main()
