#!/usr/bin/env bash
# From `run` to `score` to `table` on the embedded sample: the built-in baselines, and one system of each kind whose
# models answer behind OpenAI-compatible servers. Without a server of your own a stand-in is started that speaks the
# protocol and knows nothing, which shows the way and no model.
#
#   examples/quickstart.sh [OUT] [RECORDS A CONFIG]
#   MEDGEN_URL=http://localhost:8000/v1 MEDGEN_VLM=Qwen/Qwen3-VL-8B-Instruct examples/quickstart.sh
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-out/quickstart}
limit=${2:-8}
python=${PYTHON:-python}
medgen() { "$python" -m medgen_scripts "$@"; }

export MEDGEN_VLM=${MEDGEN_VLM:-stub-judge} MEDGEN_IMAGE_MODEL=${MEDGEN_IMAGE_MODEL:-stub-judge}
if [ -z "${MEDGEN_URL:-}" ]; then
    greeting=$(mktemp)
    (cd "$here/.." && exec "$python" -m tests.servers.openai_server --port 0) >"$greeting" &
    server=$!
    trap 'kill "$server" 2>/dev/null || true; rm -f "$greeting"' EXIT
    until [ -s "$greeting" ]; do
        kill -0 "$server"
        sleep 0.1
    done
    MEDGEN_URL=$(head -n 1 "$greeting" | cut -d ' ' -f 1)
fi
export MEDGEN_URL

common=(--edition sample --out "$out" --limit "$limit")

for system in copy-input shuffled reference blank; do
    medgen run "$system" vqa edit gen "${common[@]}"
done

medgen systems check "$here/systems/vlm.yaml"
medgen run "$here/systems/vlm.yaml" vqa "${common[@]}"
medgen run "$here/systems/vlm.yaml" vqa "${common[@]}" --blind
medgen run "$here/systems/editor.yaml" edit "${common[@]}"
medgen run "$here/systems/compositional.yaml" edit gen "${common[@]}"

# --offline: metrics whose weights aren't on this machine are left out, and the table says which
medgen score "$out"/predictions/* "${common[@]}" --tiers pixel,text --offline
medgen table "$out"/results/*.json
