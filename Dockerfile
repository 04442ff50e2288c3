# Tandem in a container, for CPUs or with CUDA. It has not been built by the project's own tests, which have no container
# engine; its commands are those of scripts/quickstart.sh, which the tests' machines run as root.
#
# CPU ranks:
#   docker build -t tandem .
#   docker run --rm --shm-size=1g --cap-add=SYS_PTRACE tandem compare --config fashion_resnet.yaml --links shm,tcp
#
# GPUs, with the NVIDIA container toolkit on the host (podman: --device nvidia.com/gpu=all in place of --gpus all):
#   docker build -t tandem-cuda --build-arg BASE=nvidia/cuda:12.6.3-cudnn-devel-ubuntu24.04 .
#   docker run --rm --gpus all --ipc=host --ulimit memlock=-1 tandem-cuda run --config resnet50.yaml
#
# --shm-size: ranks share memory through /dev/shm, of which a container has 64 MB. --ipc=host: the same, and what NCCL
# needs between GPUs. SYS_PTRACE: lets a rank read another's memory in one copy; without it they copy twice. The ranks run
# as root, which the launcher tells mpirun. Results: add -v "$PWD/runs:/data/runs".
ARG BASE=debian:12
FROM ${BASE}

COPY . /opt/tandem/source
WORKDIR /opt/tandem/source
# NCCL is in NVIDIA's images; -march=native would tie the image to the machine that built it.
RUN scripts/setup.sh && \
    scripts/build.sh /opt/tandem/build -DCMAKE_BUILD_TYPE=Release -DTANDEM_TESTS=OFF -DTANDEM_BENCHMARKS=OFF \
      -DTANDEM_NATIVE=OFF -DCMAKE_INSTALL_PREFIX=/usr/local && \
    cmake --install /opt/tandem/build && \
    rm -rf /opt/tandem/build /var/lib/apt/lists/*

WORKDIR /data
ENTRYPOINT ["launcher"]
CMD ["--help"]
