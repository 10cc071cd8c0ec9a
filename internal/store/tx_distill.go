package store

import (
	"cairn/internal/service/distill"
)

// distillTx is the transaction of the service distill.
type distillTx struct{ session }

func (t distillTx) Runs() distill.RunRepository { return t.runs() }

func (t distillTx) Tasks() distill.TaskRepository { return t.tasks() }

func (t distillTx) Drafts() distill.DraftRepository { return t.tasks() }

func (t distillTx) Transcripts() distill.TranscriptRepository { return t.transcripts() }

func (t distillTx) Packages() distill.PackageRepository { return t.packages() }

func (t distillTx) Skills() distill.SkillRepository {
	return struct {
		skillRepository
		documentRepository
	}{t.skills(), t.documents()}
}

func (t distillTx) Calls() distill.CallRepository { return t.calls() }
