# The app as a container: docker build -t private-bandit-lab . && docker run -p 8501:8501 private-bandit-lab
# Limits and memory are explained in docs/hosting.md.
# The Python of constraints.txt. Whoever needs the very same image again adds the digest that
# `docker buildx imagetools inspect python:3.11-slim-bookworm` tells: FROM python:3.11-slim-bookworm@sha256:…
FROM python:3.11-slim-bookworm

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1
WORKDIR /app

COPY deploy/image.txt ./
RUN pip install --require-hashes -r image.txt && useradd --system --uid 10001 --create-home lab

COPY . .

# Machine code is compiled here, by root, into a folder that everybody may read and only root may write: whichever
# user runs the container loads it (and nobody else's), and a volume on /data hides nothing of it.
ENV LAB_KERNEL_CACHE=/app/compiled
RUN LAB_CACHE_DIR=/tmp/warm python -m bandit_core warm && rm -rf /tmp/warm \
    && install -d -o lab -g lab -m 700 /data

# What a shared server allows: steps and estimated seconds of one run, its memory, runs at once, blocks kept on disk. LAB_JOBS is left to
# the number of cores that the container may use.
ENV LAB_CACHE_DIR=/data \
    LAB_CACHE_MB=256 \
    LAB_MAX_STEPS=2e10 \
    LAB_MAX_SECONDS=900 \
    LAB_MAX_RESULT_MB=128 \
    LAB_MAX_RUNS=2

USER lab
EXPOSE 8501

# Every path of the app answers 200, so the health check reads the body.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "deploy/healthy.py"]

# Warm again at the start: a second where the image's machine code fits this processor, and otherwise the compilation
# that no visitor should wait for.
CMD ["sh", "deploy/start.sh"]
