# docker build -t bayesdp . && docker run --rm -v "$PWD/demo-output:/work/demo-output" bayesdp
# The default command is the demo; anything else is the command line: docker run --rm bayesdp bayesdp --help
# The server: docker build --target serve -t bayesdp-serve . (examples/serve/compose.yaml does it; docs/serve.md)
FROM python:3.11-slim AS source
COPY . /bayesdp
ENV PIP_CONSTRAINT=/bayesdp/constraints.txt

FROM source AS serve
RUN pip install --no-cache-dir --no-compile '/bayesdp[server,postgresql]' && rm -r /bayesdp \
    && useradd --uid 10001 bayesdp && install --directory --owner bayesdp --mode 700 /srv/bayesdp /var/lib/bayesdp
ENV PIP_CONSTRAINT=
USER bayesdp
WORKDIR /srv/bayesdp
EXPOSE 8470
HEALTHCHECK CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8470/health/ready', timeout=5)"]
CMD ["bayesdp", "serve", "serve.toml"]

FROM source AS demo
RUN pip install --no-cache-dir --no-compile '/bayesdp[demo]' \
    && useradd --create-home analyst && mkdir -p /work/demo-output && mv /bayesdp/examples /work && rm -r /bayesdp \
    && chown -R analyst /work
ENV PIP_CONSTRAINT=
USER analyst
WORKDIR /work
CMD ["python", "examples/demo.py", "demo-output"]
