"""What a profiler saw of calls: alone, replayed beside a timeline, or sampled in the run."""
