"""bayesdp as one would use the other libraries: records are taken as independent."""

from with_bayesdp import independent, worker

if __name__ == "__main__":
    worker(independent).main()
