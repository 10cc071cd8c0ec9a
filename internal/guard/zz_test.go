package guard_test
import ("testing";"os";"path/filepath";"strings";"cairn/internal/guard";"time")
func TestZZ(t *testing.T){
 files, bytes:=0,0; n:=map[string]int{}; dang,caut,sec:=0,0,0
 start:=time.Now()
 for _,root:=range []string{os.Getenv("HOME")+"/go/pkg/mod","/work/main/docs","/work/main/README.md","/root/.pyenv/versions/3.11.7/lib","/usr/share/doc"} {
 filepath.WalkDir(root,func(p string,d os.DirEntry,err error)error{
  if err!=nil||d.IsDir()||files>2500{return nil}
  if e:=strings.ToLower(filepath.Ext(p)); e!=".md"&&e!=".rst"{return nil}
  b,_:=os.ReadFile(p); if len(b)>200000 || len(b)<200 {return nil}
  files++; bytes+=len(b)
  fs:=guard.Scan(string(b),guard.Strict); ss:=guard.Secrets(string(b))
  switch guard.Verdict(fs){case guard.Dangerous:dang++; case guard.Caution:caut++}
  if len(ss)>0{sec++}
  lines:=strings.Split(string(b),"\n")
  for _,f:=range append(fs,ss...){ n[f.ID]++; if n[f.ID]<=7 && f.Line<=len(lines){ l:=lines[f.Line-1]; if len(l)>190{l=l[:190]}; t.Logf("%s %s:%d %s",f.ID,filepath.Base(p),f.Line,l)} }
  return nil})
 }
 t.Log(files,"files",bytes,"bytes",time.Since(start),"dangerous",dang,"caution",caut,"secrets",sec); t.Log(n)
}
