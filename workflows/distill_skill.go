package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// maxRounds bounds how often a task is merged and packaged again because the
// head has moved. Every second round means that another writer got a version
// through.
const maxRounds = 40

// allScripts asks for every script of a task in one call; documents are
// numbered from 0.
const allScripts = -1

// DistillSkill makes one task of a conversation into a version of a skill: recall
// what is known and draft, write the draft's files side by side and have it judged,
// package and commit.
func DistillSkill(ctx workflow.Context, task contract.TaskRef) (contract.TaskResult, error) {
	setDetails(ctx, "Recalling skills that this may belong to, and drafting")
	drafted, err := draft(ctx, task)
	if err == nil && !drafted.Ended {
		setDetails(ctx, "Writing %d scripts and %d documents", drafted.Scripts, drafted.Docs)
		err = writeFiles(ctx, task, drafted)
	}
	if err == nil && !drafted.Ended {
		var published contract.PublishResult
		if published, err = publishOnHead(ctx, task); err == nil {
			return contract.TaskResult{
				Outcome: published.Outcome, Skill: published.Skill, Version: published.Version,
			}, nil
		}
	}
	code, reason := explain(err)
	return closeRun[contract.EndTaskInput, contract.TaskResult](
		ctx, task.Timeouts, contract.EndTask, contract.EndTaskInput{TaskRef: task, Code: code, Reason: reason}, err)
}

// draft is two calls, the first of one sentence.
func draft(ctx workflow.Context, task contract.TaskRef) (contract.DraftResult, error) {
	timeouts := task.Timeouts
	timeouts.Model *= 2
	options := modelStep(timeouts, "recall known skills, draft → model, search, model")
	return execute[contract.DraftResult](ctx, options, contract.Draft, task)
}

// writeFiles writes the scripts in one call and each document in one, all at
// once and beside the judge's call. A file that cannot be written degrades the
// skill, and a judge that fails gives no score, so only a cancellation is an
// error here.
func writeFiles(ctx workflow.Context, task contract.TaskRef, plan contract.DraftResult) error {
	group := workflow.NewWaitGroup(ctx)
	beside := func(run func(workflow.Context) error) {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			_ = run(ctx)
		})
	}
	if plan.Scripts > 0 {
		beside(func(ctx workflow.Context) error { return writeFile(ctx, task, allScripts) })
	}
	for doc := range plan.Docs {
		beside(func(ctx workflow.Context) error { return writeFile(ctx, task, doc) })
	}
	if plan.Judge {
		beside(func(ctx workflow.Context) error { return judge(ctx, task) })
	}
	group.Wait(ctx)
	return ctx.Err()
}

func writeFile(ctx workflow.Context, task contract.TaskRef, doc int) error {
	summary := "write the scripts → model"
	if doc != allScripts {
		summary = fmt.Sprintf("write document %d → model", doc+1)
	}
	options := modelStep(task.Timeouts, summary)
	return perform(ctx, options, contract.WriteFiles, contract.WriteInput{TaskRef: task, Doc: doc})
}

// judge waits no longer than one step of a model may take: a skill goes on
// without a score sooner than that an opinion holds it back for a day.
func judge(ctx workflow.Context, task contract.TaskRef) error {
	timeouts := task.Timeouts
	timeouts.GiveUp = min(timeouts.GiveUp, timeouts.Model)
	return perform(ctx, modelStep(timeouts, "judge the draft → model"), contract.Judge, task)
}

// publishOnHead packages and commits, and merges with a head that the draft's model
// has not seen, until the head is one that it has.
func publishOnHead(ctx workflow.Context, task contract.TaskRef) (contract.PublishResult, error) {
	for round := 1; round <= maxRounds; round++ {
		setDetails(ctx, "Packaging and committing, round %d", round)
		summary := fmt.Sprintf("render, zip, upload and commit, round %d", round)
		options := onQueue(contract.QueueBatch, databaseStep(task.Timeouts, summary))
		published, err := execute[contract.PublishResult](ctx, options, contract.Publish, task)
		if err != nil || !published.Unseen && !published.Conflict {
			return published, err
		}
		if published.Unseen {
			summary := fmt.Sprintf("merge with the head in force, round %d → model", round)
			if err := perform(ctx, modelStep(task.Timeouts, summary), contract.Merge, task); err != nil {
				return published, err
			}
		}
	}
	return contract.PublishResult{}, temporal.NewNonRetryableApplicationError(
		"the skill kept changing under the task", "version_conflict", nil)
}
