package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/access"
	"cairn/internal/domain/readmodel"
)

type (
	// BankRound is a round of the designer of a bank.
	BankRound readmodel.Round
	// BankTraining is a training of a bank.
	BankTraining readmodel.Training
	// BankCase is a hard case of a bank.
	BankCase readmodel.Case
)

// BankRoundList is a page of rounds, the latest first.
type BankRoundList struct {
	Rounds     []BankRound `json:"rounds"`
	NextCursor string      `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

// BankTrainingList is a page of trainings, the latest first.
type BankTrainingList struct {
	Trainings  []BankTraining `json:"trainings"`
	NextCursor string         `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

// BankCaseList is a page of hard cases, the latest first.
type BankCaseList struct {
	Cases      []BankCase `json:"cases"`
	NextCursor string     `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

// BankPage is a page of a list of a bank.
type BankPage struct {
	BankPath
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"1000"`
	Cursor string `query:"cursor" maxLength:"200" doc:"next_cursor of the previous page"`
}

func (g *Gateway) bankLearningRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/banks/{name}/rounds", id: "listBankRounds", tag: tagBanks,
		scope: access.Read, summary: "List the rounds of the designer of a bank, the latest first"}, g.listBankRounds)
	handle(g, route{method: http.MethodGet, path: "/v1/banks/{name}/trainings", id: "listBankTrainings", tag: tagBanks,
		scope: access.Read, summary: "List the trainings of a bank, the latest first"}, g.listBankTrainings)
	handle(g, route{method: http.MethodGet, path: "/v1/banks/{name}/cases", id: "listBankCases", tag: tagBanks,
		scope: access.Read, summary: "List the hard cases of a bank, the latest first",
		about: "A hard case is a question that failed, from which the designer learns."}, g.listBankCases)
}

func (g *Gateway) listBankRounds(ctx context.Context, in *BankPage) (*bodyOf[BankRoundList], error) {
	if _, err := g.Learning.Banks.At(ctx, workspace(ctx), in.Name, 0); err != nil {
		return nil, err
	}
	page, next, err := g.Explore.Rounds(ctx, workspace(ctx), in.Name, in.Cursor, in.Limit)
	out := &bodyOf[BankRoundList]{BankRoundList{[]BankRound{}, next}}
	for _, r := range page {
		out.Body.Rounds = append(out.Body.Rounds, BankRound(r))
	}
	return out, err
}

func (g *Gateway) listBankTrainings(ctx context.Context, in *BankPage) (*bodyOf[BankTrainingList], error) {
	if _, err := g.Learning.Banks.At(ctx, workspace(ctx), in.Name, 0); err != nil {
		return nil, err
	}
	page, next, err := g.Explore.Trainings(ctx, workspace(ctx), in.Name, in.Cursor, in.Limit)
	out := &bodyOf[BankTrainingList]{BankTrainingList{[]BankTraining{}, next}}
	for _, r := range page {
		out.Body.Trainings = append(out.Body.Trainings, BankTraining(r))
	}
	return out, err
}

func (g *Gateway) listBankCases(ctx context.Context, in *struct {
	BankPage
	State string `query:"state" enum:"open,resolved,expired" doc:"Default: all"`
}) (*bodyOf[BankCaseList], error) {
	if _, err := g.Learning.Banks.At(ctx, workspace(ctx), in.Name, 0); err != nil {
		return nil, err
	}
	page, next, err := g.Explore.Cases(ctx, workspace(ctx), in.Name, in.State, in.Cursor, in.Limit)
	out := &bodyOf[BankCaseList]{BankCaseList{[]BankCase{}, next}}
	for _, c := range page {
		out.Body.Cases = append(out.Body.Cases, BankCase(c))
	}
	return out, err
}
