# The server alone; models are elsewhere. Build: docker build -t fallback .
FROM python:3.12-slim AS build
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir "build>=1.2" && python -m build --wheel --outdir /dist

FROM python:3.12-slim
LABEL org.opencontainers.image.title="fallback" \
      org.opencontainers.image.description="Tool calling for language models that cannot call tools" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /dist /dist
RUN pip install --no-cache-dir "$(ls /dist/*.whl)[server,otel]" && rm -r /dist \
    && useradd --system --create-home --uid 10001 fallback
# By number: a cluster that demands a user other than root cannot look names up.
USER 10001
WORKDIR /home/fallback
# Others can reach a container: without a key in FALLBACK_API_KEY it refuses to start.
ENV FALLBACK_HOST=0.0.0.0 FALLBACK_PORT=11435
EXPOSE 11435
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ['FALLBACK_PORT'] + '/healthz', timeout=2)"]
ENTRYPOINT ["fallback"]
CMD ["serve"]
