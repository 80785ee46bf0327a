"""Work on other threads and in other processes is named, with its size."""

import threading

import torch
from torch.utils.data import DataLoader

from roofline.capture import profile


def test_operators_on_a_thread_are_a_gap_with_its_name_and_their_number():
    x = torch.ones(8)

    def work():
        for _ in range(3):
            x.exp()

    with profile() as run:
        thread = threading.Thread(target=work, name="loader")
        thread.start()
        thread.join()
        x.sin()
    result = run.result
    assert [s.name for s in result.signatures] == ["aten::sin"]
    (gap,) = result.gaps
    assert (gap.name, gap.count) == ("thread loader", 3)
    assert gap.seconds > 0


def test_a_thread_that_calls_no_operator_is_no_gap():
    with profile() as run:
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
    assert run.result.gaps == ()


def test_a_thread_class_with_its_own_run_is_seen_too():
    class Worker(threading.Thread):
        def run(self):
            torch.ones(3)

    with profile() as run:
        worker = Worker(name="own")
        worker.start()
        worker.join()
    assert [(g.name, g.count) for g in run.result.gaps] == [("thread own", 1)]


def test_processes_that_load_data_are_named_with_their_number():
    data = [torch.ones(2) for _ in range(4)]
    with profile() as run:
        for batch in DataLoader(data, batch_size=2, num_workers=2):
            batch.exp()
    assert [(g.name, g.count) for g in run.result.gaps] == [("process DataLoader worker", 2)]
    assert [s.name for s in run.result.signatures].count("aten::exp") == 1


def test_threads_start_as_before_afterwards():
    before = threading.Thread.start
    with profile():
        assert threading.Thread.start is not before
    assert threading.Thread.start is before
