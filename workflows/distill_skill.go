package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// maxRounds bounds how often a task is merged and packaged again because the
// head has moved. Every second round means that another writer got a version
// through.
const maxRounds = 40

// DistillSkill makes one task of a conversation into a version of a skill: recall
// what is known and draft, write the draft's files side by side and have it judged,
// package and commit.
func DistillSkill(ctx workflow.Context, task contract.TaskRef) (contract.TaskResult, error) {
	story := newStory(ctx)
	story.tell("Recalling skills that this may belong to, and drafting")
	drafted, err := draft(ctx, task)
	if err != nil || drafted.Ended {
		return endTask(ctx, task, err)
	}

	story.tell(fmt.Sprintf("Writing %d scripts and %d documents", drafted.Scripts, drafted.Docs))
	if err := writeFiles(ctx, task, drafted); err != nil {
		return endTask(ctx, task, err)
	}
	return publishOnHead(ctx, story, task)
}

// publishOnHead packages and commits, and merges with a head that the draft's model
// has not seen, until the head is one that it has.
func publishOnHead(ctx workflow.Context, story story, task contract.TaskRef) (contract.TaskResult, error) {
	for round := 1; round <= maxRounds; round++ {
		story.tell(fmt.Sprintf("Packaging and committing, round %d", round))
		published, err := publish(ctx, task, round)
		if err != nil {
			return endTask(ctx, task, err)
		}
		switch {
		case published.Unseen:
			if err := merge(ctx, task, round); err != nil {
				return endTask(ctx, task, err)
			}
		case !published.Conflict:
			return contract.TaskResult{Outcome: published.Outcome, Skill: published.Skill, Version: published.Version}, nil
		}
	}
	return endTask(ctx, task, errTooManyConflicts)
}

// writeFiles writes the scripts in one call and each document in one, all at
// once and beside the judge's call. A file that cannot be written degrades the
// skill, and a judge that fails gives no score, so only a cancellation is an
// error here.
func writeFiles(ctx workflow.Context, task contract.TaskRef, plan contract.Drafted) error {
	group := workflow.NewWaitGroup(ctx)
	write := func(doc int) {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			_ = writeFile(ctx, task, doc)
		})
	}
	if plan.Scripts > 0 {
		write(allScripts)
	}
	for doc := range plan.Docs {
		write(doc)
	}
	if plan.Judge {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			_ = judge(ctx, task)
		})
	}
	group.Wait(ctx)
	return ctx.Err()
}
