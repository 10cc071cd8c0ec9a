package store_test

import (
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestTheSchemaHasTheVersionThatWasMigratedTo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v, err := b.Schema(t.Context())
	testkit.Must(t, err)
	last := int64(b.number("select max(version_id) from goose_db_version"))
	if v.Version != last || v.Program != last || v.Check() != nil {
		t.Errorf("%+v, %v; the last migration is %d", v, v.Check(), last)
	}
	b.exec("delete from goose_db_version where version_id = $1", last)
	before := int64(b.number("select max(version_id) from goose_db_version")) // the numbers may have gaps
	if v, err = b.Schema(t.Context()); err != nil || v.Version != before ||
		fault.CodeOf(v.Check()) != fault.Misconfigured {
		t.Errorf("behind: %+v, %v, %v", v, err, v.Check())
	}
	b.exec("drop function cairn.schema_version")
	if _, err := b.Schema(t.Context()); fault.CodeOf(err) != fault.Misconfigured {
		t.Errorf("a schema from before versions could be asked: %v", err)
	}
}

func TestAProgramWorksOnItsSchemaAndOnLaterOnes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version, program int64
		works            bool
	}{{7, 7, true}, {6, 7, false}, {9, 7, true}} {
		err := store.Schema{Version: c.version, Program: c.program}.Check()
		if c.works != (err == nil) || err != nil &&
			(fault.CodeOf(err) != fault.Misconfigured ||
				fault.From(err).Hint == fault.Table[fault.Misconfigured].Hint) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
