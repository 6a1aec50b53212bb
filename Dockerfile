# The demo in a container: `docker build -t lopa . && docker run -p 7860:7860 lopa`
FROM python:3.12-slim

RUN useradd -m -u 1000 user
USER user
ENV PATH=/home/user/.local/bin:$PATH PYTHONUNBUFFERED=1 PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu GRADIO_ANALYTICS_ENABLED=False
WORKDIR /home/user/app

COPY --chown=user requirements.txt constraints.txt ./
RUN pip install --no-cache-dir --user -r requirements.txt -c constraints.txt
COPY --chown=user . .

EXPOSE 7860
HEALTHCHECK --start-period=60s CMD python -c "import urllib.request as r; r.urlopen('http://127.0.0.1:7860/healthz', timeout=10)"
ENV LOPA_HOST=0.0.0.0 LOPA_PORT=7860
CMD ["python", "app.py"]
