# The demo in a container, as a Docker Space or on any machine: docker build -t lopa . && docker run --rm -p 7860:7860 lopa
# With GPUs: build with --build-arg TORCH_INDEX= (no index beside pip's own, whose torch brings CUDA), run with --gpus all --shm-size 1g
# (NCCL passes data between GPUs through /dev/shm, of which Docker gives 64 MB).
FROM python:3.12-slim

RUN useradd --create-home --uid 1000 user
USER user
# folders of this user: the app's, and the Hub's cache, so that a volume mounted there can be written
RUN mkdir -p /home/user/app /home/user/.cache/huggingface
ENV HOME=/home/user PATH=/home/user/.local/bin:$PATH PYTHONUNBUFFERED=1 GRADIO_ANALYTICS_ENABLED=False
WORKDIR /home/user/app

ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY --chown=user requirements.txt constraints.txt ./
RUN pip install --no-cache-dir ${TORCH_INDEX:+--extra-index-url $TORCH_INDEX} -r requirements.txt -c constraints.txt
COPY --chown=user . .

ENV LOPA_HOST=0.0.0.0 PORT=7860
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=15s --start-period=300s CMD python -c "import http.client, os, sys; \
    port = os.environ.get('LOPA_PORT') or os.environ['PORT']; \
    line = http.client.HTTPConnection('127.0.0.1', port, timeout=10); \
    line.request('GET', '/healthz'); \
    sys.exit(line.getresponse().status != 200)"
CMD ["python", "app.py"]
