package bank_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/testkit"
	"cairn/schemas"
)

// storeBlob stores weights of a kind without a reader, and returns their hash.
func storeBlob(l *pgtest.Learning, kind, header string) string {
	blob := binary.LittleEndian.AppendUint32([]byte(kind), 1)
	blob = append(binary.LittleEndian.AppendUint32(blob, uint32(len(header))), header...)
	sum := sha256.Sum256(blob)
	l.DB.Exec("insert into policies (workspace_id, sha, kind, blob) values ($1, $2, 'policy', $3)", l.DB.A.ID,
		hex.EncodeToString(sum[:]), append(blob, sum[:]...))
	return hex.EncodeToString(sum[:])
}

// Databases have policies of kinds that were removed. A bank whose active version has one keeps its skills.
func TestABankWithARemovedKindOfPolicyCanBeUsedAgain(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx, ws := t.Context(), l.DB.A.ID
	learned := trained(t, l)
	active, err := l.Banks.Import(ctx, ws, bank.Default, file("capture_dates", "Adds dates."))
	testkit.Must(t, err)
	for _, name := range []string{"lost", "kept"} {
		_, err = l.Banks.Import(ctx, ws, name, file("capture_dates", "Adds dates."))
		testkit.Must(t, err)
	}
	replace := func(name string, from int, policy string) {
		l.DB.Exec(`update bank_versions v set policy_sha = $3 from banks b where b.workspace_id = v.workspace_id and
			b.id = v.bank_id and b.name = $1 and v.number >= $2`, name, from, policy)
	}
	replace(bank.Default, active.Head, storeBlob(l, "cairnpol", `{"head":"concat","dim":32,"hidden":64}`))
	replace("lost", 1, storeBlob(l, "cairnban", `{"dim":32}`))
	refused := func(what string, err error, kind string) {
		t.Helper()
		f := fault.From(err)
		if f == nil || f.Code != fault.InvalidArgument || !strings.Contains(err.Error(), kind) ||
			!strings.Contains(f.Hint, "--skills-only") {
			t.Errorf("%s: %v, want %s", what, err, kind)
		}
	}
	for name, kind := range map[string]string{bank.Default: "concat", "lost": "cairnban"} {
		_, err = l.Banks.Head(ctx, ws, name)
		refused("bank "+name, err, kind)
	}

	migration, err := schemas.Migrations.ReadFile("migrations/00187_tower_policies.sql")
	testkit.Must(t, err)
	l.DB.Exec(string(migration))
	got, err := l.Banks.Head(ctx, ws, bank.Default)
	if err != nil || got.Head != active.Head+1 || got.Version.Parent != active.Head ||
		got.Bank.Hash() != active.Bank.Hash() || got.Policy.Hash() != learned.Policy.Hash() ||
		got.Optimizer.Hash() != learned.Optimizer.Hash() {
		t.Errorf("%+v, %v", got.Version, err)
	}
	_, err = l.Banks.Rollback(ctx, ws, bank.Default, active.Head)
	refused("rollback", err, "concat")
	for name, want := range map[string]struct{ number, skills int }{"lost": {3, 10}, "kept": {2, 11}} {
		got, err = l.Banks.Head(ctx, ws, name)
		if err != nil || got.Head != want.number || got.Bank.Len() != want.skills {
			t.Errorf("bank %s: %+v, %v", name, got.Version, err)
		}
	}
}
