"""A stand-in for a user's program, as `docs/wrappers.md` asks for one; its first argument says how it behaves.

It imports nothing but the standard library, and Pillow for images: started often, it has to start fast.
"""

import json
import os
import subprocess
import sys
import time

MODE = sys.argv[1]
SLOW = 60


def say(**reply: object) -> None:
    print(json.dumps(reply), flush=True)


def answer(request: dict) -> None:
    if "image" in request["wants"]:
        from PIL import Image
        from PIL import ImageOps

        with Image.open(request["images"][0]) as image:
            ImageOps.invert(image).save(request["output"])
        say(id=request["id"], image=request["output"], text=request["prompt"])
    else:
        say(id=request["id"], text=f"{request['prompt']} {os.getpid()}", meta={"request": request})


def main() -> None:
    if MODE == "dies":
        sys.exit("no weights here")
    if MODE == "child":
        child = subprocess.Popen(["sleep", str(SLOW)])
        print(f"child {child.pid}", flush=True)
    print("Loading checkpoint shards: 100%", flush=True)
    held = []
    for line in sys.stdin:
        request = json.loads(line)
        prompt = request["prompt"]
        if prompt == "crash":
            print("CUDA error: an illegal memory access", file=sys.stderr, flush=True)
            os._exit(3)
        if prompt == "hang":
            time.sleep(SLOW)
        if prompt == "leave":
            sys.exit(0)
        if prompt == "error":
            say(id=request["id"], error="too many tokens")
        elif prompt == "outside":
            say(id=request["id"], image="/etc/hostname")
        elif prompt == "no file":
            say(id=request["id"], image="none.png")
        elif prompt == "number":
            say(id=request["id"], text=3)
        elif prompt == "long":
            say(id=request["id"], text="long " * 100_000)
        elif MODE == "backwards":
            held.append(request)
            if len(held) == 3:
                for other in reversed(held):
                    answer(other)
        else:
            answer(request)
        if MODE == "once":
            break
    while MODE == "stubborn":
        time.sleep(SLOW)


if __name__ == "__main__":
    if MODE == "stubborn":
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    main()
