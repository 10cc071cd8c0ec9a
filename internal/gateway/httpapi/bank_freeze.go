package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/access"
)

func (g *Gateway) bankFreezeRoutes() {
	handle(g, route{method: http.MethodPost, path: "/v1/banks/{name}/freeze", id: "freezeBank", tag: tagBanks,
		scope: access.Admin, bytes: smallBody, summary: "Freeze a bank and its policy",
		about: "A frozen bank keeps its active version until it is unfrozen. Live choices use that version without " +
			"exploration, and decisions and outcomes are stored as before. Trainings, rounds of the designer, " +
			"promotions, rollbacks and imports are refused with the code protected. A run that is open ends without " +
			"a new version. Freezing a frozen bank changes nothing. The setting memory.learning.frozen stops " +
			"automatic learning of all banks."}, g.freezeBank)
	handle(g, route{method: http.MethodPost, path: "/v1/banks/{name}/unfreeze", id: "unfreezeBank", tag: tagBanks,
		scope: access.Admin, bytes: smallBody, summary: "Let a frozen bank and its policy change again",
		about: "Unfreezing a bank that is not frozen changes nothing."}, g.unfreezeBank)
}

func (g *Gateway) freezeBank(ctx context.Context, in *BankPath) (*bodyOf[BankDetail], error) {
	return shownBank(g.Learning.Banks.Freeze(ctx, workspace(ctx), in.Name, true))
}

func (g *Gateway) unfreezeBank(ctx context.Context, in *BankPath) (*bodyOf[BankDetail], error) {
	return shownBank(g.Learning.Banks.Freeze(ctx, workspace(ctx), in.Name, false))
}
