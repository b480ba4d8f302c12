# docker build -t bayesdp . && docker run --rm -v "$PWD/demo-output:/work/demo-output" bayesdp
# The default command is the demo; anything else is the command line: docker run --rm bayesdp bayesdp --help
FROM python:3.11-slim
COPY . /bayesdp
RUN PIP_CONSTRAINT=/bayesdp/constraints.txt pip install --no-cache-dir --no-compile '/bayesdp[demo]' \
    && useradd --create-home analyst && mkdir -p /work/demo-output && mv /bayesdp/examples /work && rm -r /bayesdp \
    && chown -R analyst /work
USER analyst
WORKDIR /work
CMD ["python", "examples/demo.py", "demo-output"]
