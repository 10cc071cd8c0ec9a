package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// maxRounds limits how often a task is merged and packaged again because the head has changed. Each
// two rounds mean that another writer committed a version.
const maxRounds = 40

// allScripts requests all scripts of a task in one call. Documents are numbered from 0.
const allScripts = -1

// DistillSkill turns one task of a conversation into a version of a skill. It finds known skills
// and drafts, writes the files concurrently with the judgment, and packages and commits.
func DistillSkill(ctx workflow.Context, task contract.TaskRef) (contract.TaskResult, error) {
	setDetails(ctx, "Finding related skills and drafting")
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

// draft makes two model calls, the first for a search query.
func draft(ctx workflow.Context, task contract.TaskRef) (contract.DraftResult, error) {
	timeouts := task.Timeouts
	timeouts.Model *= 2
	options := modelStep(timeouts, "recall known skills, draft → model, search, model")
	return execute[contract.DraftResult](ctx, options, contract.Draft, task)
}

// writeFiles writes the scripts in one call and each document in one call. All calls and the
// judgment run concurrently. A file that cannot be written degrades the skill, and a failed
// judgment gives no score. Only a cancellation is an error here.
func writeFiles(ctx workflow.Context, task contract.TaskRef, plan contract.DraftResult) error {
	group := workflow.NewWaitGroup(ctx)
	concurrently := func(run func(workflow.Context) error) {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			_ = run(ctx)
		})
	}
	if plan.Scripts > 0 {
		concurrently(func(ctx workflow.Context) error { return writeFile(ctx, task, allScripts) })
	}
	for doc := range plan.Docs {
		concurrently(func(ctx workflow.Context) error { return writeFile(ctx, task, doc) })
	}
	if plan.Judge {
		concurrently(func(ctx workflow.Context) error { return judge(ctx, task) })
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

// judge waits for at most one model step. A skill continues without a score rather than waiting for
// one.
func judge(ctx workflow.Context, task contract.TaskRef) error {
	timeouts := task.Timeouts
	timeouts.GiveUp = min(timeouts.GiveUp, timeouts.Model)
	return perform(ctx, modelStep(timeouts, "judge the draft → model"), contract.Judge, task)
}

// publishOnHead packages and commits. If the head has changed since the draft, it merges and
// packages again.
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
		"the skill changed in every round", "version_conflict", nil)
}
