package chaos

import (
	"fmt"
	"strings"
)

// theme is a subject of conversations with its skill.
type theme struct {
	id          string
	title       string // name that users and the model use
	alias       string // name that the model uses sometimes: nearly the same skill
	description string
	trigger     []string
	procedure   string
	parts       []string // parts to check, in order
	chinese     bool
	script      bool // whether the skill has a script
	document    bool
}

// lesson returns the text that one task adds to the theme's skill.
func (t theme) lesson(ticket string) string {
	if t.chinese {
		return fmt.Sprintf("工单 %s：%s要核对两次", ticket, t.parts[0])
	}
	return fmt.Sprintf("Ticket %s: check the %s twice", ticket, t.parts[0])
}

func (t theme) scriptFile() string   { return "check_" + t.id + ".py" }
func (t theme) documentFile() string { return t.id + ".md" }

// subject is the object of a task; verb is the action.
type subject struct {
	name  string
	parts []string
}

type verb struct{ name, alias, aim, first, then, last string }

var english = []subject{
	{"database index", []string{"bloat report", "fill factor", "vacuum log", "slow statement"}},
	{"customer invoice", []string{"billing address", "tax rate", "payment reference", "credit note"}},
	{"container image", []string{"base layer", "registry digest", "entry point", "vulnerability list"}},
	{"flight booking", []string{"fare class", "passenger name", "baggage allowance", "connection time"}},
	{"mailing list", []string{"bounce rate", "unsubscribe link", "sender domain", "segment rule"}},
	{"server certificate", []string{"expiry date", "issuer chain", "private key", "renewal hook"}},
	{"warehouse shelf", []string{"bin label", "stock count", "picking route", "pallet weight"}},
	{"support forum", []string{"open thread", "moderator queue", "spam score", "pinned answer"}},
}

var englishVerbs = []verb{
	{"Repair the", "Mend the", "get a broken one working again", "find what broke in the", "restore the",
		"watch for an hour the"},
	{"Migrate the", "Transfer the", "move it to its new home without an interruption", "copy ahead of time the",
		"switch over the", "retire at the old place the"},
	{"Audit the", "Inspect the", "prove to a reviewer that the rules are kept", "collect evidence about the",
		"compare with policy the", "sign and file the"},
}

var chinese = []subject{
	{"数据库备份", []string{"快照清单", "归档日志", "恢复演练", "存储配额"}},
	{"酒店预订", []string{"入住日期", "房型价格", "取消条款", "会员积分"}},
	{"报销单据", []string{"发票抬头", "审批流程", "费用科目", "付款账号"}},
	{"直播推流", []string{"码率设置", "推流地址", "音画同步", "回看录像"}},
}

var chineseVerbs = []verb{
	{"修复", "抢修", "让出错的恢复正常", "先定位问题所在的", "重新建立", "持续观察"},
	{"迁移", "搬迁", "不中断地换到新的地方", "提前复制", "按时切换", "最后下线旧的"},
	{"审核", "复核", "证明每一条规定都得到遵守", "收集证据说明", "逐条对照", "签字归档"},
	{"优化", "改进", "花更少的时间和费用做成同一件事", "测量当前的", "每次只调整", "对比前后的"},
}

// themes has 24 themes in English and 16 in Chinese.
var themes = makeThemes()

func makeThemes() []theme {
	var out []theme
	for _, v := range englishVerbs {
		for _, s := range english {
			out = append(out, makeTheme(len(out), s, v, false))
		}
	}
	for _, v := range chineseVerbs {
		for _, s := range chinese {
			out = append(out, makeTheme(len(out), s, v, true))
		}
	}
	return out
}

func makeTheme(n int, s subject, v verb, inChinese bool) theme {
	steps := []string{v.first + " " + s.parts[0], v.then + " " + s.parts[1], v.then + " " + s.parts[2],
		v.last + " " + s.parts[3]}
	t := theme{id: fmt.Sprintf("theme_%02d", n), title: v.name + " " + s.name, alias: v.alias + " " + s.name,
		description: fmt.Sprintf("%s %s: %s", v.name, s.name, v.aim),
		trigger:     []string{s.name, strings.TrimSuffix(v.name, " the")}, parts: s.parts,
		chinese: inChinese, script: n%3 == 0, document: n%4 == 0}
	if inChinese {
		t.title, t.alias, t.description = v.name+s.name, v.alias+s.name, v.name+s.name+"，"+v.aim
		for i := range steps {
			steps[i] = strings.ReplaceAll(steps[i], " ", "")
		}
	}
	for i, step := range steps {
		t.procedure += fmt.Sprintf("%d. %s\n", i+1, step)
	}
	return t
}

// themeIn returns the theme whose title is in text.
func themeIn(text string) (theme, bool) {
	for _, t := range themes {
		if strings.Contains(text, t.title) {
			return t, true
		}
	}
	return theme{}, false
}
