#!/bin/sh
# Compile what is not compiled yet, then serve. PORT (else 8500 + LAB_PROCESS) and options of `streamlit run` may be given.
set -eu
for name in PORT LAB_PROCESS; do
    eval "value=\${$name:-1}"
    case $value in
        *[!0-9]* | 0*)
            echo "$name: '$value': this environment variable takes a whole number of at least 1" >&2
            exit 2
            ;;
    esac
done
cd "$(dirname "$0")/.."
python -m bandit_core warm
exec python -m streamlit run app.py \
    --server.port "${PORT:-$((8500 + ${LAB_PROCESS:-1}))}" --server.address "${ADDRESS:-0.0.0.0}" \
    --server.headless true --server.fileWatcherType none "$@"
