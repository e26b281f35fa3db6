#!/bin/sh
# Compile what is not compiled yet, then serve. PORT (else 8500 + LAB_PROCESS) and options of `streamlit run` may be given.
set -eu
cd "$(dirname "$0")/.."
python -m bandit_core warm
exec python -m streamlit run app.py \
    --server.port "${PORT:-$((8500 + ${LAB_PROCESS:-1}))}" --server.address "${ADDRESS:-0.0.0.0}" \
    --server.headless true --server.fileWatcherType none "$@"
