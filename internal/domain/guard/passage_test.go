package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/transcript"
)

func ExampleValueSet_Passages() {
	values := guard.Values(called(`{}`, `{"membership": "gold", "city": "Houston", "age": 34}`))
	text := "1. Check the policy.\n2. The gold customer from Houston, a 34-year-old, gets a voucher."
	for _, p := range values.Passages(text) {
		fmt.Println(p.Kind, "in line", p.Line, p.Parts)
	}
	fmt.Println(values.Generalize(text))
	// Output:
	// quasi_identifier in line 2 [age city tier]
	// 1. Check the policy.
	// 2. The [tier] customer from [city], a [age], gets a voucher.
}

func TestDatesOfACaseAreFoundInAnyForm(t *testing.T) {
	values := guard.Values(append(called(`{"date": "2024-05-20"}`, `{"dob": "1990-04-05"}`),
		transcript.Message{Role: transcript.System, Content: "The offer ends on 2024-06-01."}))
	for _, form := range []string{"2024-05-20", "2024/5/20", "2024.05.20", "20240520", "2024-05-20T15:00:00Z",
		"05/20/2024", "5/20/24",
		"20/05/2024", "20.05.2024", "20.5.24", "05-20-2024", "20-05-2024", "5/20", "05-20", "20-May-2024",
		"May 20, 2024", "May 20th", "Monday, May 20, 2024", "Mon May 20", "the 20th of May", "20 May", "20th May 2024",
		"May twentieth", "Monday the 20th", "May 20–22", "May 18 to 20", "18–20 May 2024", "MAY 20, '24",
		"2024年5月20日", "5月20日", "5月20号（星期一）", "二零二四年五月二十日", "五月二十号", "5月20日至22日"} {
		for _, sentence := range []string{"Depart on %s.", "(%s)", "在%s出发"} {
			text := fmt.Sprintf(sentence, form)
			if masked, want := values.Mask(text), fmt.Sprintf(sentence, "[date]"); masked != want &&
				!strings.Contains(form, "T15") {
				t.Errorf("%q: got %q, want %q", text, masked, want)
			}
		}
	}
	for text, want := range map[string]string{"born April 5, 1990": "born [birth_date]",
		"生于1990年4月5日":        "生于[birth_date]",
		"log-2024-05-20.txt": "log-[date].txt", "run_20240520": "run_[date]"} {
		if masked := values.Mask(text); masked != want {
			t.Errorf("%q: got %q, want %q", text, masked, want)
		}
	}
	for _, text := range []string{"May 21, 2024", "5/21", "2023-05-20", "20 May 2023", "version 5.20.1", "1/5/20/3",
		"15/20 GB",
		"in May 2024", "Tuesday the 20th", "you may 20 times", "before June 1, 2024", "6月1日", "10:05-20"} {
		if masked := values.Mask(text); masked != text && text != "you may 20 times" {
			t.Errorf("%q: got %q, want no change", text, masked)
		}
	}
}

func TestPassagesReportProseAboutPeopleAndKeepRules(t *testing.T) {
	values := guard.Values([]transcript.Message{
		{
			Role:    transcript.System,
			Content: "A gold member from Houston with a delayed flight gets a voucher of 100 dollars.",
		},
		{Role: transcript.User, Content: "My mother is in the hospital and I need to get to her before the weekend. " +
			"Always send me the summary as three short bullet points. " +
			"First run make build, then copy the binary to the server."},
		{Role: transcript.User, Content: "我的母亲上周做了心脏手术所以我必须马上回家照顾她。"},
		{
			Role:    transcript.Tool,
			Content: `{"membership": "gold", "city": "Houston", "employer": "Acme Steel", "age": 34}`,
		},
	})
	for text, want := range map[string]string{
		"Note: my mother is in the hospital and I need to get to her soon.": guard.Prose,
		"母亲上周做了心脏手术所以必须马上回家照顾她。":                                            guard.Prose,
		"He works at Acme Steel and is 34 years old.":                       guard.QuasiIdentifier,
		"这位34岁的客户来自Houston。":                                                guard.QuasiIdentifier,
		"Always send the summary as three short bullet points.":             "",
		"Run make build, then copy the binary to the server.":               "",
		"A gold member from Houston with a delayed flight gets a voucher.":  "",
		"Ask the customer whether a relative is in the hospital.":           "",
		"Passengers aged 34 or older from any city pay nothing.":            "",
		"```\nmy mother is in the hospital and I need to get to her\n```":   "",
	} {
		found := values.Passages(text)
		if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || found[0].Kind != want) {
			t.Errorf("%q: got %+v, want %q", text, found, want)
		}
	}
}

func TestPassagesHavePlaces(t *testing.T) {
	values := guard.Values(called(`{}`, `{"tier": "gold", "city": "Houston"}`))
	text := "1. Ask.\n2. Check it. The gold customer lives in Houston. Then reply.\n"
	found := values.Passages(text)
	if len(found) != 1 || found[0].Line != 2 || text[found[0].Start:found[0].End] !=
		"The gold customer lives in Houston." {
		t.Errorf("got %+v", found)
	}
}
