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

// DistillSkill turns one task of a conversation into a version of a skill. It finds known skills
// and drafts, writes the files concurrently with the judgment, and packages and commits.
func DistillSkill(ctx workflow.Context, task contract.TaskRef) (contract.TaskResult, error) {
	setDetails(ctx, "Finding related skills and drafting")
	drafted, err := draft(ctx, task)
	if err == nil && !drafted.Ended {
		setDetails(ctx, "Writing %d files and judging the draft", drafted.Files)
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

// draft makes one model call or, about a task that is longer than a window, one more for each of its windows.
func draft(ctx workflow.Context, task contract.TaskRef) (contract.DraftResult, error) {
	timeouts := task.Timeouts
	timeouts.Model *= 2
	options := modelStep(timeouts, "recall known skills, draft → search, model")
	return execute[contract.DraftResult](ctx, options, contract.Draft, task)
}

// writeFiles writes all files in one call, concurrently with the judgment. Files that cannot be written degrade
// the skill, and a failed judgment gives no score. Only a cancellation is an error here.
func writeFiles(ctx workflow.Context, task contract.TaskRef, plan contract.DraftResult) error {
	group := workflow.NewWaitGroup(ctx)
	concurrently := func(run func(workflow.Context) error) {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			_ = run(ctx)
		})
	}
	if plan.Files > 0 {
		concurrently(func(ctx workflow.Context) error {
			options := modelStep(task.Timeouts, fmt.Sprintf("write %d files → model", plan.Files))
			return perform(ctx, options, contract.WriteFiles, task)
		})
	}
	if plan.Judge {
		concurrently(func(ctx workflow.Context) error { return judge(ctx, task) })
	}
	group.Wait(ctx)
	return ctx.Err()
}

// judge waits for at most one model step. A skill continues without a score rather than waiting for
// one; it then needs a person's approval.
func judge(ctx workflow.Context, task contract.TaskRef) error {
	timeouts := task.Timeouts
	timeouts.GiveUp = min(timeouts.GiveUp, timeouts.Model)
	return perform(ctx, modelStep(timeouts, "judge the draft → model"), contract.Judge, task)
}

// compare compares an update with the version in force. It makes two model calls.
func compare(ctx workflow.Context, task contract.TaskRef) error {
	timeouts := task.Timeouts
	timeouts.Model *= 2
	return perform(ctx, modelStep(timeouts, "compare with the version in force → model"), contract.Compare, task)
}

// publishOnHead packages and commits. If the head has changed since the draft, it merges and
// packages again. An update that would take effect at once is compared with the head first.
func publishOnHead(ctx workflow.Context, task contract.TaskRef) (contract.PublishResult, error) {
	for round := 1; round <= maxRounds; round++ {
		setDetails(ctx, "Packaging and committing, round %d", round)
		summary := fmt.Sprintf("render, zip, upload and commit, round %d", round)
		options := onQueue(contract.QueueBatch, databaseStep(task.Timeouts, summary))
		published, err := execute[contract.PublishResult](ctx, options, contract.Publish, task)
		switch {
		case err != nil:
			return published, err
		case published.Compare:
			if err := compare(ctx, task); err != nil {
				return published, err
			}
		case published.Unseen:
			summary := fmt.Sprintf("merge with the head in force, round %d → model", round)
			if err := perform(ctx, modelStep(task.Timeouts, summary), contract.Merge, task); err != nil {
				return published, err
			}
		case !published.Conflict:
			return published, nil
		}
	}
	return contract.PublishResult{}, temporal.NewNonRetryableApplicationError(
		"the skill changed in every round", "version_conflict", nil)
}
