package recurrence

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/fault"
)

func parse(t testing.TB, expression, zone string) Schedule {
	t.Helper()
	s, err := Parse(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

// Each error names the part, and its hint has the correction.
func TestWhatDialectsUnderstandDifferentlyIsRefused(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]struct{ part, hint string }{
		"":                                      {"", "0 23 * * *"},
		"   ":                                   {"", "0 23 * * *"},
		"0 23 * *":                              {"", "0 23 * * *"},
		"0 23 1 * 1":                            {"1 * 1", `"0 23 * * 1" or "0 23 1 * *"`},
		"0 23 1-31 * MON":                       {"1-31 * MON", `"0 23 * * MON"`},
		"0 23 */2 * 1":                          {"*/2 * 1", `"0 23 * * 1"`},
		"0 0 23 * * *":                          {"0", `use "0 23 * * *"`},
		"30 0 23 * * MON":                       {"30", `use "0 23 * * MON"`},
		"0 23 * * * 2027":                       {"2027", `use "0 23 * * *"`},
		"* * * * * * *":                         {"", "0 23 * * *"},
		"TZ=Asia/Tokyo 0 23 * * *":              {"TZ=Asia/Tokyo", `"0 23 * * *"`},
		"CRON_TZ=Asia/Tokyo 0 23 * * *":         {"CRON_TZ=Asia/Tokyo", `"0 23 * * *"`},
		"CRON_TZ=":                              {"CRON_TZ=", "separately"},
		"0 23 ? * *":                            {"?", "use * for any day of the month"},
		"0 23 * * ?":                            {"?", "use * for any day of the week"},
		"0 23 L * *":                            {"L", "28"},
		"0 23 15W * *":                          {"15W", "28"},
		"0 23 LW * *":                           {"LW", "28"},
		"0 23 * * 5L":                           {"5L", "MON-FRI"},
		"0 23 * * FRI#2":                        {"FRI#2", "8-14"},
		"0 23 * * 7":                            {"7", "use SUN"},
		"0 23 * * 5-7":                          {"5-7", "use 5-SAT,SUN"},
		"0 23 * * 1-7/2":                        {"1-7/2", "TUE,THU,SUN"},
		"0 23 * * SAT-SUN":                      {"SAT-SUN", "use SAT,SUN"},
		"0 23 31 2 *":                           {"31 2", `use "0 23 28 2 *"`},
		"0 23 30 FEB *":                         {"30 FEB", `use "0 23 28 FEB *"`},
		"0 23 31 2,4,6 *":                       {"31 2,4,6", `use "0 23 30 2,4,6 *"`},
		"61 23 * * *":                           {"61", "0 to 59"},
		"0 24 * * *":                            {"24", "0 to 23"},
		"0 23-2 * * *":                          {"23-2", "use 23,0-2"},
		"0 22-2 * * *":                          {"22-2", "use 22-23,0-2"},
		"0 20-25 * * *":                         {"20-25", "0 to 23"},
		"0 23 0 * *":                            {"0", "1 to 31"},
		"0 23 * 13 *":                           {"13", "1 to 12 or JAN to DEC"},
		"0 23 * MON *":                          {"MON", "JAN to DEC"},
		"0 23 * * JAN":                          {"JAN", "SUN to SAT"},
		"*/0 * * * *":                           {"*/0", "*/2"},
		"*/90 * * * *":                          {"*/90", "@every 90m"},
		"0 */24 * * *":                          {"*/24", "@every 24h"},
		"1,,2 * * * *":                          {"", "comma"},
		"1, * * * *":                            {"", "comma"},
		", * * * *":                             {"", "comma"},
		"*-5 * * * *":                           {"*-5", "0 to 59"},
		"+5 * * * *":                            {"+5", "0 to 59"},
		"-5 * * * *":                            {"-5", "0 to 59"},
		"1-2-3 * * * *":                         {"1-2-3", "0 to 59"},
		"1/2/3 * * * *":                         {"1/2/3", "0 to 59"},
		"*/99999999999999999999 * * * *":        {"*/99999999999999999999", "0 to 59"},
		"H 23 * * *":                            {"H", "0 to 59"},
		"０ 23 * * *":                            {"０", "0 to 59"},
		"@reboot":                               {"@reboot", "@daily"},
		"@every":                                {"", "@every 90m"},
		"@every 30s":                            {"30s", "@every 1m"},
		"@every -1h":                            {"-1h", "@every 1m"},
		"@every 90s":                            {"90s", "@every 1m"},
		"@every 9000h":                          {"9000h", "0 0 1 1 *"},
		"@every day":                            {"day", "@every 90m"},
		strings.Repeat("0,", 400) + "0 * * * *": {"", "ranges"},
		"@daily 0 23 * * *":                     {"@daily", "@daily"},
		"0 23 * * * && rm -rf /":                {"", "0 23 * * *"},
		"0 23 * * \x00":                         {"\x00", "SUN to SAT"},
	} {
		_, err := Parse(expression, "UTC")
		f := fault.From(err)
		if f == nil || f.Code != fault.InvalidArgument || !strings.Contains(f.Hint, want.hint) {
			t.Errorf("%q: %v, %+v; want the hint %s", expression, err, f, want.hint)
			continue
		}
		if part, _ := f.Extra["part"].(string); part != want.part {
			t.Errorf("%q: the part is %q, want %q", expression, part, want.part)
		}
	}
}

func TestAnExpressionIsKeptInItsPlainForm(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"0 23 * * *": "0 23 * * *", "  0\t23  * *\n* ": "0 23 * * *",
		"*/5 9-17 * jan,DEC Mon-Fri": "*/5 9-17 * jan,DEC Mon-Fri", "05 23 29 2 *": "05 23 29 2 *",
		"0 0 1,15 */3 *": "0 0 1,15 */3 *", "5/10 * * * *": "5/10 * * * *", "0 23 * * */1": "0 23 * * */1",
		"@daily": "@daily", "@every 1h30m": "@every 1h30m", "0 23 31 * *": "0 23 31 * *",
	} {
		s, err := Parse(expression, "Europe/Berlin")
		if err != nil || s.String() != want || s.Zone() != "Europe/Berlin" {
			t.Errorf("%q: %q in %q, %v", expression, s, s.Zone(), err)
			continue
		}
		if again := parse(t, s.String(), s.Zone()); again.String() != want {
			t.Errorf("%q becomes %q", want, again)
		}
	}
}

func TestAShorthandIsWhatItStandsFor(t *testing.T) {
	t.Parallel()
	for short, long := range shorthands {
		a, b := parse(t, short, "America/Nuuk"), parse(t, long, "America/Nuuk")
		for at, n := instant(t, "2026-03-01T00:00:00Z"), 0; n < 20; n++ {
			x, xd := a.Next(at)
			y, yd := b.Next(at)
			if !x.Equal(y) || xd != yd {
				t.Fatalf("%s after %v: %v and %v", short, at, x, y)
			}
			at = x
		}
	}
}

func TestAZoneMeansTheSameOnEveryMachine(t *testing.T) {
	t.Parallel()
	for name, suggestion := range map[string]string{"": "", "Local": "", "local": "", "Mars/Olympus": "",
		"berlin": "Europe/Berlin", "europe/berlin": "Europe/Berlin", "New York": "America/New_York",
		"Europe/Berlin ": "Europe/Berlin", "utc": "UTC", "UTC+2": "", "+02:00": "", "../etc/passwd": "",
		"/etc/localtime": "", "posix/Europe/Berlin": "", "right/UTC": "", "posixrules": "", "Factory": "", "a\x00b": "",
		strings.Repeat("z", 1000): ""} {
		_, err := Parse(Daily, name)
		f := fault.From(err)
		if f == nil || f.Code != fault.InvalidArgument || f.Hint == "" || len(f.Message) > 200 {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if got, _ := f.Extra["suggestion"].(string); got != suggestion || !strings.Contains(f.Hint, suggestion) {
			t.Errorf("%q: suggests %q, want %q", name, got, suggestion)
		}
	}
	zones := Zones()
	if len(zones) < 590 || !slices.IsSorted(zones) {
		t.Errorf("%d zones", len(zones))
	}
	for _, name := range zones {
		if zone, err := Zone(name); err != nil || zone.String() != name {
			t.Errorf("%s: %v, %v", name, zone, err)
		}
	}
}

// FuzzParse checks that an accepted expression has ordered firings, which parsing its String
// repeats, and that a rejected one has a hint.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{Daily, "*/5 9-17 * jan,DEC Mon-Fri", "0 0 29 2 *", "0 23 1 * 1",
		"CRON_TZ=UTC * * * * *", "@every 90m", "@daily", "5/10 22-2 ? L 7", "0 0 30 2 *", "0 0 23 * * *"} {
		f.Add(seed, "America/Nuuk")
		f.Add(seed, "Australia/Lord_Howe")
	}
	f.Add(Daily, "berlin")
	f.Add(Daily, "Local")
	f.Fuzz(func(t *testing.T, expression, zone string) {
		s, err := Parse(expression, zone)
		if err != nil {
			if e := fault.From(err); e.Code != fault.InvalidArgument || e.Hint == "" ||
				!strings.Contains(expression+zone, "%") && strings.Contains(e.Message+e.Hint, "%!") {
				t.Fatalf("%q in %q: %+v", expression, zone, e)
			}
			return
		}
		again, err := Parse(s.String(), s.Zone())
		if err != nil {
			t.Fatalf("%q becomes %q: %v", expression, s, err)
		}
		at := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
		for range 4 {
			next, date := s.Next(at)
			second, _ := again.Next(at)
			if !next.After(at) || !next.Equal(second) || date == (Date{}) {
				t.Fatalf("%q in %q after %v: %v, then %v", s, zone, at, next, second)
			}
			if between, _ := s.Next(next.Add(-1)); !between.Equal(next) {
				t.Fatalf("%q in %q: %v right before %v", s, zone, between, next)
			}
			at = next
		}
	})
}
