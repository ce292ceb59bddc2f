RanKeeper ; makes and removes the database, holds it during a run, reads blocks, and answers what is asked about it
 ;
 ; A line on standard input is a question: a word and its values, parted by tabs. The answer ends with a line that begins
 ; with a dot. An error is answered with "! STATUS". The end of the input ends the process.
 ;
 ; Beside each call stands the KEY of its page at docs.intersystems.com/irislatest/csp/docbook/DocBook.UI.Page.cls?KEY=...,
 ; or its class at docs.intersystems.com/irislatest/csp/documatic/%25CSP.Documatic.cls?LIBRARY=%25SYS&CLASSNAME=...
 ;
 new $etrap set $etrap="do fault^RanDialect"
 new line,word,home
 do open^RanDialect
 ; Classes of the configuration are in the namespace %SYS (KEY=RCOS_vnamespace).
 set home=$namespace
 write ". ",$job,!
 for  read line do
 . set word=$piece(line,$char(9))
 . do @word
 quit
 ;
value(number) ; a value of the question
 quit $piece(line,$char(9),number+1)
 ;
names() ; the globals that belong to the database, as the mappings name them (CLASSNAME=Config.MapGlobals)
 quit "RanFiller,RanIogauge,RanWorker*,RanWriteGlobal*"
 ;
refuse(kind,why) ; an error of our own
 write "! ",kind," ",why,!
 halt
 ;
ok(status) ; an error of a method (CLASSNAME=%SYSTEM.Status)
 quit:status
 do refuse("failed",$translate($system.Status.GetErrorText(status),$char(13,10),"  "))
 quit
 ;
place ; directory in which the namespace has globals that are not mapped elsewhere (CLASSNAME=%SYS.Namespace)
 write $piece(##class(%SYS.Namespace).GetGlobalDest(home),"^",2),!,".",!
 quit
 ;
about ; version, buffers of 8 KB, state of the journal, rule for commits (KEY=RCOS_vzversion, CLASSNAME=SYS.Stats.Buffer,
 ; CLASSNAME=%SYS.Journal.System, CLASSNAME=%SYSTEM.Process)
 new buffers,state,commit
 set commit=##class(%SYSTEM.Process).SynchCommit()
 set $namespace="%SYS"
 set buffers=##class(SYS.Stats.Buffer).Sample(8192)
 set state=##class(%SYS.Journal.System).GetStateString()
 set $namespace=home
 write $zversion,!,buffers.NumSize,!,state,!,commit,!,".",!
 quit
 ;
make ; name, directory, megabytes: a database file, and the namespace's mappings to it (CLASSNAME=SYS.Database,
 ; CLASSNAME=Config.Databases, CLASSNAME=Config.MapGlobals, CLASSNAME=%File)
 new name,directory,megabytes,global,properties,number
 set name=$$value(1),directory=$$value(2),megabytes=$$value(3)
 ; Globals of these names would be hidden by the mappings (KEY=RCOS_sglobal).
 set global="^RanE" for  set global=$order(^$GLOBAL(global)) quit:$extract(global,1,4)'="^Ran"  do
 . if global?1"^Ran"1(1"Filler",1"Iogauge",1"Worker".E,1"WriteGlobal".E) do refuse("foreign",global)
 set $namespace="%SYS"
 if ##class(Config.Databases).Exists(name) do refuse("foreign",name)
 if ##class(%File).Exists(directory) do refuse("foreign",directory)
 for number=1:1:$length($$names,",") do
 . set global=$piece($$names,",",number)
 . if ##class(Config.MapGlobals).Exists(home,global) do refuse("foreign",global)
 if '##class(%File).CreateDirectory(directory) do refuse("failed","the directory cannot be made: "_directory)
 do ok(##class(SYS.Database).CreateDatabase(directory,megabytes))
 set properties("Directory")=directory
 do ok(##class(Config.Databases).Create(name,.properties))
 kill properties
 set properties("Database")=name
 for number=1:1:$length($$names,",") do
 . do ok(##class(Config.MapGlobals).Create(home,$piece($$names,",",number),.properties))
 set $namespace=home
 write ".",!
 quit
 ;
remove ; name, directory: everything that was made, as far as it is there
 new name,directory,number,global,database
 set name=$$value(1),directory=$$value(2)
 set $namespace="%SYS"
 for number=1:1:$length($$names,",") do
 . set global=$piece($$names,",",number)
 . quit:'##class(Config.MapGlobals).Exists(home,global,.database)
 . if database.Database=$zconvert(name,"U") do ok(##class(Config.MapGlobals).Delete(home,global))
 if ##class(%File).Exists(directory_"IRIS.DAT") do
 . do ok(##class(SYS.Database).DismountDatabase(directory))
 . do ok(##class(SYS.Database).DeleteDatabase(directory))
 if ##class(Config.Databases).Exists(name) do ok(##class(Config.Databases).Delete(name))
 if ##class(%File).Exists(directory) do
 . if '##class(%File).RemoveDirectory(directory) write directory,!
 set $namespace=home
 write ".",!
 quit
 ;
fill ; directory: data that cannot be compressed, until nothing is free; tells how many megabytes are
 ; (CLASSNAME=%SYSTEM.Encryption, CLASSNAME=SYS.Database)
 new directory,free,record,records,number
 set directory=$$value(1),number=0
 do unjournaled^RanDialect
 for  do  quit:free<2
 . set free=$$free(directory)
 . write free,!
 . quit:free<2
 . ; Four of these fill a block of 8 KB. A round takes at most half of what is free, so that the last one is small.
 . set records=free*256 set:records>50000 records=50000
 . for record=1:1:records set number=number+1,^RanFiller(number)=$system.Encryption.GenCryptRand(2000)
 write ".",!
 quit
 ;
free(directory) ; megabytes
 new free,status
 set $namespace="%SYS"
 set status=##class(SYS.Database).GetFreeSpace(directory,.free)
 set $namespace=home
 do ok(status)
 quit free
 ;
marker ; what setup has written of the database
 write $get(^RanIogauge),!,".",!
 quit
 ;
mark ; text: writes it
 set ^RanIogauge=$$value(1)
 write ".",!
 quit
 ;
lock ; for a run that writes, or a check; it ends with the process (KEY=RCOS_clock)
 lock +^RanIogauge("run"):0
 if '$test do refuse("busy","")
 write ".",!
 quit
 ;
reading ; for a run that only reads, beside others (KEY=RCOS_clock, shared locks)
 lock +^RanIogauge("read")#"S":0
 if '$test do refuse("busy","")
 write ".",!
 quit
 ;
alone ; against runs that read (KEY=RCOS_clock)
 lock +^RanIogauge("read"):0
 if '$test do refuse("busy","")
 write ".",!
 quit
 ;
size ; directory: megabytes of the file, and bytes of a block
 new directory,database
 set directory=$$value(1)
 set $namespace="%SYS"
 set database=##class(SYS.Database).%OpenId(directory)
 set $namespace=home
 if '$isobject(database) do refuse("missing",directory)
 write database.Size," ",database.BlockSize,!,".",!
 quit
 ;
counts ; what the instance did (CLASSNAME=SYS.Stats.Global)
 new all
 set $namespace="%SYS"
 set all=##class(SYS.Stats.Global).Sample()
 set $namespace=home
 write "DRD:",all.PhysBlockReads,",DWT:",all.PhysBlockWrites,",WIJ:",all.WIJWrites,",JRN:",all.JrnEntries
 write ",JBK:",all.JrnBlocks,",LOG:",all.LogicalBlocks,",WDA:",all.WDWake,",WDQ:",all.WDQueueSize,!,".",!
 quit
 ;
drain ; everything that was committed goes to the journal, and from there to the database
 ; (CLASSNAME=%SYS.Journal.System, CLASSNAME=SYS.Stats.Global)
 new all,offset
 set $namespace="%SYS"
 set offset=##class(%SYS.Journal.System).Sync()
 for  set all=##class(SYS.Stats.Global).Sample() quit:'all.WDWake&'all.WDQueueSize  hang 0.05
 set $namespace=home
 write ".",!
 quit
 ;
blocks ; directory: every other line is the number of a block, which is read as by the reference suite, through device 63
 ; and into the view buffer (KEY=RCOS_cview)
 new directory,number
 set directory="^^"_$$value(1)
 write ".",!
 for  read number do
 . open 63:directory
 . view +number
 . close 63
 . write ".",!
 quit
