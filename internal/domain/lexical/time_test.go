package lexical_test

import (
	"testing"

	"cairn/internal/domain/lexical"
)

func TestDatesAreReadInTheFormsThatPeopleUse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]lexical.Date{
		"what did she do on 5 July, 2023?":      {2023, 7, 5},
		"on the 21st of March":                  {0, 3, 21},
		"what happened on October 3rd 2022":     {2022, 10, 3},
		"plans for January 2024":                {2024, 1, 0},
		"what did he buy in August":             {0, 8, 0},
		"between 2023-05-08 and today":          {2023, 5, 8},
		"他2023年5月8日去了哪里":                        {2023, 5, 8},
		"5月做了什么":                                {0, 5, 0},
		"may 5, 2021":                           {2021, 5, 5},
		"which May was it":                      {0, 5, 0},
		"may I ask what she bought on 2 March?": {0, 3, 2},
	} {
		if got, ok := lexical.DateIn(text); !ok || got != want {
			t.Errorf("%q: %+v %t, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"may I come in", "version 2023", "13-45", "", "第5章"} {
		if got, ok := lexical.DateIn(text); ok {
			t.Errorf("%q: read as %+v", text, got)
		}
	}
}

func TestQuestionsAndWordsOfTimeAreTold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][3]bool{ // asks, asks when, dated
		"When did she leave?":           {true, true, false},
		"What day is the race?":         {true, true, true},
		"Whenever you like.":            {false, false, false},
		"I went there last week.":       {false, false, true},
		"你什么时候去的？":                      {true, true, false},
		"我昨天去了":                         {false, false, true},
		"The lasting peace of Sundance": {false, false, false},
	} {
		if got := [3]bool{lexical.Asks(text), lexical.AsksWhen(text), lexical.Dated(text)}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
