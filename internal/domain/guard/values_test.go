package guard_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/intake"
	"cairn/internal/testkit"
)

// called returns a conversation with one call and its result.
func called(arguments, result string) []transcript.Message {
	return []transcript.Message{
		{Role: transcript.User, Content: "Hi, my id is mia_li_3668 and my mail is mia@example.com"},
		{Role: transcript.Assistant, ToolCalls: []transcript.ToolCall{{Name: "get_user_2024", Arguments: arguments}}},
		{Role: transcript.Tool, Name: "get_user_2024", Content: result},
	}
}

func ExampleValues() {
	values := guard.Values(called(`{"reservation_id": "FQ8APE"}`,
		`{"name": {"first_name": "Mia", "last_name": "Li"}, "cabin": "economy"}`))
	fmt.Println(values.Mask("Cancel FQ8APE of Mia Li in economy."))
	fmt.Println(values.Find("1. Ask.\n2. Cancel FQ8APE."))
	// Output:
	// Cancel [reservation_id] of [name] in economy.
	// [{personal caution 2 personal.id }]
}

func TestValuesFindWhatBelongsToOneCase(t *testing.T) {
	record := `{"name": {"first_name": "Mia", "last_name": "Li"}, "email": "mia.li3818@example.com", "dob": ` +
		`"1990-04-05",
		"address": {"address1": "141 Cedar Avenue", "city": "Charlotte", "zip": "43282"}, "membership": "gold",
		"payment_methods": {"gift_card_7480005": {"source": "gift_card", "amount": 250, "id": "gift_card_7480005"}, ` +
		`"credit_card_4421486": {"last_four": "7447"}},
		"reservations": ["WUNA5K"], "phone": "+1 415 555 0134", "pnr": "XQWERT", "orderNumber": 88213, "userName": ` +
		`"mialee", "ticket": "T-204-88", "passport": "P1234567"}`
	values := guard.Values(called(`{"user_id": "mia_li_3668", "customer": {"name": "May Brown"}}`, record))
	for text, want := range map[string]string{
		"use gift_card_7480005 first":     "use [id] first",
		"the Credit_Card_4421486.":        "the [id].",
		"mail mia.li3818@example.com":     "mail [email]",
		"mail Mia@example.com":            "mail [email]",
		"user mia_li_3668 asks":           "user [id] asks",
		"Mia asks":                        "[name] asks",
		"Ms. Li asks, Mia Li pays":        "Ms. [name] asks, [name] pays",
		"May Brown flies":                 "[name] flies",
		"born 1990-04-05":                 "born [birth_date]",
		"lives at 141 Cedar Avenue":       "lives at [address]",
		"zip 43282, card ending 7447":     "zip [zip], card ending [last_four]",
		"take WUNA5K":                     "take [id]",
		"call +1 415 555 0134":            "call +[phone]",
		"record XQWERT, order 88213":      "record [pnr], order [order_number]",
		"account mialee, ticket T-204-88": "account [name], ticket [ticket]",
		"passport P1234567":               "passport [passport]",
		"退还到gift_card_7480005。":           "退还到[id]。",
		"pay 4111 1111 1111 1111":         "pay 4111 1111 1111 1111", // not from this conversation
		"brown bread may be <li>old</li>": "brown bread may be <li>old</li>",
		"May I ask? Brown is a colour.":   "May I ask? Brown is a colour.",
		"tell Brown in Charlotte":         "tell [name] in Charlotte",
	} {
		if got := values.Mask(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if found := len(values.Find(text)) > 0; found != (text != want) {
			t.Errorf("%q: found %v", text, found)
		}
		if masked := values.Mask(text); values.Mask(masked) != masked {
			t.Errorf("%q is masked twice", masked)
		}
	}
}

func TestValuesLeaveGeneralWordsAlone(t *testing.T) {
	values := guard.Values(called(`{"cabin": "economy", "flight_type": "round_trip", "bags": `+
		`3, "price": 4, "tier": "tier_1", "name": "Laptop Stand"}`,
		`{"status": "available", "port": 8080, "model": "gpt-4o-2024", "encoding": `+
			`"utf8mb4", "hash": "sha256", "code": "TS2345",
		"brand": "visa", "insurance": "no", "city": "Houston", "airport": "JFK", "id": "user", "user": "admin", `+
			`"runtime": "python3", "count": 250, "book": {"name": "Mark"}}`))
	text := `Call get_user_2024, then book economy round_trip for 2024-05-20 at 15:00; 3 bags cost 4875. Users of ` +
		`tier_1 are available.
On error TS2345 use gpt-4o-2024, utf8mb4, sha256 and python3; the visa card of a user or admin in Houston or JFK; ` +
		`put 250 and no more. Mark the laptop.`
	if findings := values.Find(text); len(findings) > 0 {
		t.Errorf("%+v in %q", findings, values.Mask(text))
	}
}

func TestValuesKnowChineseNames(t *testing.T) {
	values := guard.Values(called(`{"姓名": "王小明", "订单号": "DD20240501", "customer": {"name": "李雷", "phone": `+
		`"13812345678"}, "地址": "上海市徐汇区某路10号"}`, `{}`))
	got := values.Mask("为客户王小明查询DD20240501，通知李雷（13812345678），寄到上海市徐汇区某路10号。")
	if got != "为客户[name]查询[id]，通知[name]（[phone]），寄到[address]。" {
		t.Errorf("got %s", got)
	}
}

func TestNoValuesFindNothing(t *testing.T) {
	var zero guard.ValueSet
	if zero.Len() != 0 || zero.Find("Mia") != nil || zero.Mask("Mia") != "Mia" {
		t.Error("the zero set must hold nothing")
	}
	if n := guard.Values(called("not json", "{broken")).Len(); n != 2 {
		t.Errorf("%d values of a message with an id and an address", n)
	}
}

// tau returns the public trajectories, or nil if they are absent.
func tau(t *testing.T) []transcript.Conversation {
	dir := os.Getenv("CAIRN_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "data")
	}
	file, err := os.Open(filepath.Join(dir, "tau", "airline-train.json"))
	if err != nil {
		t.Logf("public data is absent, nothing tested, set CAIRN_DATA: %v", err)
		return nil
	}
	defer file.Close()
	result, err := intake.Read("airline-train.json", file, intake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result.Conversations
}

func TestValuesOfRealConversations(t *testing.T) {
	testkit.Long(t)
	private := regexp.MustCompile(`"(?:first_name|last_name|user_id|email|reservation_id|payment_id|dob|last_four|` +
		`zip)": ?"([^"]+)"`)
	total, words, flagged := 0, 0, map[string]int{}
	for _, c := range tau(t) {
		values := guard.Values(c.Messages)
		total += values.Len()
		for _, m := range c.Messages {
			if m.Role == transcript.System { // the policy contains only general text
				words += len(strings.Fields(m.Content))
				for _, line := range strings.Split(m.Content, "\n") {
					for _, f := range values.Find(line) {
						flagged[f.ID+" "+line]++
					}
				}
				continue
			}
			texts := []string{}
			if m.Role == transcript.Tool {
				texts = append(texts, m.Content)
			}
			for _, call := range m.ToolCalls {
				texts = append(texts, call.Arguments)
			}
			for _, text := range texts {
				if !json.Valid([]byte(text)) {
					continue
				}
				for _, match := range private.FindAllStringSubmatch(values.Mask(text), -1) {
					if !strings.HasPrefix(match[1], "[") {
						t.Errorf("%s: %s is left", c.Title, match[0])
					}
				}
			}
		}
	}
	for line, n := range flagged {
		t.Errorf("general text is flagged %d times: %s", n, line)
	}
	t.Logf("%d values, %d words of policy", total, words)
}

func TestRealConversationsHaveNoSecretsAndNoAttacks(t *testing.T) {
	testkit.Long(t)
	texts, findings := 0, 0
	for _, c := range tau(t)[:] {
		for _, m := range c.Messages {
			texts++
			found := append(guard.Scan(m.Content, guard.Strict), guard.Secrets(m.Content)...)
			if findings += len(found); len(found) > 0 {
				t.Errorf("%s: %+v in %q", c.Title, found, m.Content)
			}
		}
	}
	t.Logf("%d messages, %d findings", texts, findings)
}
