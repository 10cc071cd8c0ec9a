package browsertest_test

import (
	"testing"

	"cairn/internal/gateway/httpapi"
)

// A change of a setting is shown before it is saved, and an empty value restores the default.
func TestASettingIsCheckedAndSaved(t *testing.T) {
	f, b := signedIn(t)
	every := func() int { return read[httpapi.WorkspaceSettings](f, "/v1/settings").Nudge.Every }
	usual := every()
	b.Visit(f.At("settings"))
	change := func(value string) {
		t.Helper()
		b.Choose("#change-name", "nudge.every")
		b.Enter("#change-value", value)
		b.Submit("form[action$='/settings/check'] button")
		shows(b, "This change")
	}
	change("7")
	shows(b, "Before", "After")
	if got := every(); got != usual {
		t.Errorf("a check has saved %d", got)
	}
	b.Act("form[action$='/settings'] button", "Saved.")
	if got := every(); got != 7 {
		t.Errorf("the setting is %d", got)
	}
	change("7")
	shows(b, "Nothing would change.")
	change(" ")
	b.Act("form[action$='/settings'] button", "Saved.")
	if got := every(); got != usual {
		t.Errorf("the setting is %d, and not its default %d", got, usual)
	}
}
