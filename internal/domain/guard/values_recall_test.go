package guard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/transcript"
)

// dateForms are the ways to write a date of a case again.
var dateForms = []struct{ lang, form string }{
	{"en", "2006-01-02"}, {"en", "01/02/2006"}, {"en", "2/1/2006"}, {"en", "02.01.2006"}, {"en", "January 2, 2006"},
	{"en", "Mon, Jan 2"}, {"en", "2 January 2006"}, {"en", "the ORD of January"}, {"en", "January ORD"},
	{"zh", "2006年1月2日"}, {"zh", "1月2日"}, {"zh", "2006/1/2"},
}

// written formats a date. ORD is the day with its ordinal ending.
func written(d time.Time, form string) string {
	ending := "th"
	switch d.Day() {
	case 1, 21, 31:
		ending = "st"
	case 2, 22:
		ending = "nd"
	case 3, 23:
		ending = "rd"
	}
	return strings.ReplaceAll(d.Format(form), "ORD", fmt.Sprint(d.Day())+ending)
}

// plant is a sentence of a skill with a value of a case.
type plant struct{ kind, sentence, value string }

// plants returns 300 sentences with values of 25 cases, and each case's conversation.
func plants() (cases [][]transcript.Message, planted [][]plant) {
	first := []string{"Amelia", "Noah", "Fatima", "Ivan", "Sofia"}
	last := []string{"Sanchez", "Johansson", "Khan", "Petrov", "Rossi"}
	cities := []string{"Houston", "San Francisco", "Boston", "Denver", "Miami"}
	codes := []string{"IAH", "SFO", "BOS", "DEN", "MIA"}
	han := []string{"王小明", "李思雨", "张伟强", "陈静怡", "刘建国"}
	hanCities := []string{"北京", "上海", "广州", "成都", "西安"}
	for n := range 25 {
		a, b := n%5, (n/5+n+1)%5
		if a == b {
			b = (b + 1) % 5
		}
		flight := time.Date(2024, time.Month(1+n%12), 13+n%15, 0, 0, 0, 0, time.UTC)
		birth := time.Date(1960+n, time.Month(12-n%12), 1+n, 0, 0, 0, 0, time.UTC)
		price, balance, bill := 1200+37*n, 310+7*n, 2345+11*n
		id, booking := fmt.Sprintf("user_%s_%d", strings.ToLower(last[b]), 1000+n*7), fmt.Sprintf("Q%dXR%d", n%10, 10+n)
		mail, phone := fmt.Sprintf(
			"%s%d@example.org",
			strings.ToLower(first[a]),
			n,
		), fmt.Sprintf(
			"+1 415 555 01%02d",
			n,
		)
		said := fmt.Sprintf(
			"Hi, my mother lives in %s and I need to fly from %s to %s as soon as I can get there. 我想订从%s到%s的机票",
			cities[b],
			cities[a],
			cities[b],
			hanCities[a],
			hanCities[b],
		)
		result := fmt.Sprintf(`{"name": {"first_name": %q, "last_name": %q}, "dob": %q, "email": %q, "phone": %q, `+
			`"membership": "gold", "city": %q, "reservations": [%q], "payment_methods": {"card": {"balance": %d}}, `+
			`"联系人": %q, "total_cost": "%d.50"}`, first[a], last[b],
			birth.Format("2006-01-02"), mail, phone, cities[a], booking,
			balance, han[a], bill)
		arguments := fmt.Sprintf(
			`{"user_id": %q, "origin": %q, "destination": %q, "date": %q, "price": %d}`,
			id,
			codes[a],
			codes[b],
			flight.Format("2006-01-02"),
			price,
		)
		cases = append(cases, []transcript.Message{{Role: transcript.System, Content: strings.Join(policy(), "\n")},
			{Role: transcript.User, Content: said},
			{Role: transcript.Assistant, ToolCalls: []transcript.ToolCall{{Name: "book", Arguments: arguments}}},
			{Role: transcript.Tool, Name: "book", Content: result}})
		form, second := dateForms[n%12], dateForms[(n*5+3)%12]
		day, dob := written(flight, form.form), written(birth, second.form)
		on := map[string]string{"en": "The traveler leaves on %s and comes back later.", "zh": "乘客在%s出发，之后返回。"}
		born := map[string]string{"en": "The passenger was born on %s.", "zh": "乘客生于%s。"}
		zh := dateForms[9+n%3]
		planted = append(planted, []plant{
			{"date", fmt.Sprintf(on[form.lang], day), day},
			{"date", fmt.Sprintf(on[second.lang], written(flight, second.form)), written(flight, second.form)},
			{"date", fmt.Sprintf(on["zh"], written(flight, zh.form)), written(flight, zh.form)},
			{"birth_date", fmt.Sprintf(born[second.lang], dob), dob},
			{
				"amount",
				fmt.Sprintf("The fare was $%d,%03d.00 in total.", price/1000, price%1000),
				fmt.Sprintf("%d,%03d", price/1000, price%1000),
			},
			{"amount", fmt.Sprintf("礼品卡余额为%d元。", balance), fmt.Sprint(balance)},
			{"amount", fmt.Sprintf("Charge %d.5 dollars to the card.", bill), fmt.Sprint(bill)},
			{
				"route",
				fmt.Sprintf("Search direct flights from %s to %s first.", codes[a], codes[b]),
				codes[a] + " to " + codes[b],
			},
			{"route", fmt.Sprintf("Book %s → %s for the user.", cities[a], cities[b]), cities[a]},
			{"route", fmt.Sprintf("先查询%s到%s的航班。", hanCities[a], hanCities[b]), hanCities[a]},
			{"id", fmt.Sprintf("Open the profile of %s, booking %s.", id, booking), id},
			{"name", fmt.Sprintf("把确认信发给%s（%s，%s）。", han[a], mail, phone), han[a]},
		})
	}
	return cases, planted
}

// policy returns 60 rules of a system prompt, with numbers, dates and amounts.
func policy() (rules []string) {
	for n := range 10 {
		rules = append(rules,
			fmt.Sprintf("Refunds above $%d,000 need the approval of a manager.", n+1),
			fmt.Sprintf("Tickets that were bought before 2024-%02d-%02d follow the old fare rules.", 1+n, 1+n),
			fmt.Sprintf("Silver and gold members can take %d bags of %d kg for free.", 1+n%3, 20+n),
			fmt.Sprintf("Each extra bag costs %d dollars and may not exceed %d cm.", 30+5*n, 150+n),
			fmt.Sprintf("%d月%d日之前购买的机票可以免费改签%d次。", 1+n, 1+n, n%4+1),
			fmt.Sprintf("从昆明到拉萨的航班，退票费为%d元，%d小时内免费取消。", 100+100*n, 24+n))
	}
	return rules
}

// general returns 50 rules that no message states.
func general() (rules []string) {
	for n := range 10 {
		rules = append(rules,
			fmt.Sprintf("Ask for a second confirmation if the amount is above %d00 euros.", n+9),
			fmt.Sprintf("Cancel within %d hours of the booking, or charge a fee of %d%%.", 12*(n+1), 5+n),
			fmt.Sprintf("Passengers under %d years pay half; those aged %d or older pay nothing.", 2+n, 70+n),
			fmt.Sprintf("Retry at most %d times on status 50%d, then wait %d seconds.", n+2, n%5, 30*(n+1)),
			fmt.Sprintf("From the %d.12.2031 on, the limit is %d.000 units in version 1.%d.%d.", 1+n, 7+n, n, n+1))
	}
	return rules
}

func TestValuesFindPlantedValuesAndKeepRules(t *testing.T) {
	cases, planted := plants()
	all, left, found := 0, 0, map[string]int{}
	for n, messages := range cases {
		values := guard.Values(messages)
		for _, p := range planted[n] {
			all++
			masked := values.Mask(p.sentence)
			if strings.Contains(masked, p.value) {
				left++
				t.Logf("%s is left: %q of %q", p.kind, p.value, p.sentence)
			}
			found[p.kind]++
			if again := values.Mask(masked); again != masked {
				t.Errorf("masked twice: %q, %q", masked, again)
			}
		}
	}
	rules, changed := 0, 0
	for n, messages := range cases[:3] {
		values := guard.Values(messages)
		for _, rule := range append(policy(), general()...)[:100+5*n] {
			rules++
			if masked := values.Mask(rule); masked != rule || len(values.Passages(rule)) > 0 {
				changed++
				t.Logf("changed: %q to %q, %v", rule, masked, values.Passages(rule))
			}
		}
	}
	t.Logf("%d of %d values left %v, %d of %d rules changed", left, all, found, changed, rules)
	if all < 300 || rules < 300 || float64(left) > .05*float64(all) || float64(changed) > .05*float64(rules) {
		t.Error("want a recall of at least .95, and at least .95 of the rules unchanged")
	}
}
