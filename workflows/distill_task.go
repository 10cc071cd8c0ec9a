package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// judgesDrafts marks the tasks that knew of the judge when they came to it: its
// activity's answer may be older than the worker that reads it.
const judgesDrafts = "judge"

// publishesAtOnce marks the tasks whose packages are committed by the step that
// makes them.
const publishesAtOnce = "publish"

// distillTask is DistillSkill as tasks have it that began before that: it recalls
// in a step of its own, and its markers tell the rest.
func distillTask(ctx workflow.Context, task contract.TaskRef) (contract.TaskResult, error) {
	story := newStory(ctx)
	story.tell("Recalling skills that this may belong to")
	recalled, err := recall(ctx, task)
	if err != nil || recalled.Ended {
		return endTask(ctx, task, err)
	}

	story.tell(fmt.Sprintf("Extracting a draft beside %d known skills", recalled.Candidates))
	drafted, err := extract(ctx, task)
	if err != nil || drafted.Ended {
		return endTask(ctx, task, err)
	}

	story.tell(fmt.Sprintf("Writing %d scripts and %d documents", drafted.Scripts, drafted.Docs))
	drafted.Judge = drafted.Judge && workflow.GetVersion(ctx, judgesDrafts, workflow.DefaultVersion, 1) >= 1
	if err := writeFiles(ctx, task, drafted); err != nil {
		return endTask(ctx, task, err)
	}
	return publishOnHead(ctx, story, task, func(ctx workflow.Context, task contract.TaskRef, round int) (out contract.Published, err error) {
		if workflow.GetVersion(ctx, publishesAtOnce, workflow.DefaultVersion, 1) >= 1 {
			return publish(ctx, task, round)
		}
		if out.Packaged, err = pack(ctx, task, round); err != nil || out.Unseen {
			return out, err
		}
		out.Committed, err = commit(ctx, task, round)
		return out, err
	})
}

// Steps of these tasks alone.

func recall(ctx workflow.Context, task contract.TaskRef) (out contract.Recalled, err error) {
	ctx = model(ctx, task.Pace, "recall known skills → model, search")
	err = workflow.ExecuteActivity(ctx, contract.Recall, task).Get(ctx, &out)
	return out, err
}

func extract(ctx workflow.Context, task contract.TaskRef) (out contract.Drafted, err error) {
	ctx = model(ctx, task.Pace, "extract a draft → model")
	err = workflow.ExecuteActivity(ctx, contract.Extract, task).Get(ctx, &out)
	return out, err
}

// pack is half of publish.
func pack(ctx workflow.Context, task contract.TaskRef, round int) (out contract.Packaged, err error) {
	ctx = workflow.WithTaskQueue(database(ctx, task.Pace, fmt.Sprintf("render, zip and upload, round %d", round)), contract.QueueBatch)
	err = workflow.ExecuteActivity(ctx, contract.Package, task).Get(ctx, &out)
	return out, err
}

// commit is the other half of publish.
func commit(ctx workflow.Context, task contract.TaskRef, round int) (out contract.Committed, err error) {
	ctx = here(ctx, task.Pace, fmt.Sprintf("commit the version, round %d", round))
	err = workflow.ExecuteActivity(ctx, contract.Commit, task).Get(ctx, &out)
	return out, err
}
