RanWorker ; transactions of one worker: orders come on standard input, books go to standard output
 ;
 ; The first line is the plan, its numbers parted by spaces:
 ;   worker global subscripts bytes sequence state length batch
 ; Every other line is an order: transactions microseconds.
 ; The answer to it are a line "tTIMETIME..." and a line ". SEQUENCE" with the last transaction that is
 ; committed. The times are microseconds of 16 digits, length+3 of them for each transaction: when it began, when its
 ; updates began (later only where it was restarted), when each update was done, when the commit was.
 ; The line "counts" is answered with ". " and GT.M's own counts of what this process did. An error is answered
 ; with "! STATUS". The end of the input ends the process.
 ;
 new $etrap set $etrap="do fault^RanWorker"
 new line,worker,global,subscripts,bytes,sequence,state,length,batch,padding,update,rest,record,timed,taken
 use $principal:(exception="do gone^RanWorker":width=1048576)
 read line
 set timed=1
 do plan(line)
 ; Attaches to the database before anything is measured.
 if $data(@record)
 write ". ",$job,!
 for  read line do
 . if line="counts" do counts quit
 . do order($piece(line," ",1),$piece(line," ",2))
 . write ". ",sequence,!
 quit
 ;
plan(line) ; what the worker is told before it begins
 new i
 set worker=+$piece(line," ",1),global=+$piece(line," ",2),subscripts=+$piece(line," ",3)
 set bytes=+$piece(line," ",4),sequence=+$piece(line," ",5),state=+$piece(line," ",6)
 set length=+$piece(line," ",7),batch=+$piece(line," ",8)
 set padding="" for  quit:$length(padding)>(bytes+62)  do
 . set padding=padding_"AbCdEfGhIjKlMnOpQrStUvWxYz0123456789aBcDeFgHiJkLmNoPqRsTuVwXyZ"
 set record="^RanWorker"_worker
 ; The global stands in the text by its name: compiled once, it costs what a routine's own line costs.
 set update=$$updates(length\10,10),rest=$$updates(length#10,1)
 quit
 ;
updates(rounds,number) ; so many rounds of so many updates, and the time after each of them
 quit:'rounds ""
 new one,text,times,i
 set one=$$drawn_",^RanWriteGlobal"_global_"(subscript)="_$$value
 ; Text is the cheapest place for times: putting one into an array or counting it costs twice as much. All of
 ; the text is copied when something is put to it, so that those of a round are put to it together.
 set text="for i=1:1:"_rounds_" set ",times="times"
 for i=1:1:number-1 set text=text_one_"," set:timed text=text_"t"_i_"=$zut,",times=times_"_t"_i
 set text=text_one set:timed text=text_",times="_times_"_$zut"
 quit text
 ;
drawn() ; the next subscript, and the check of what is to stand there
 new step set step="state=state*48271#2147483647,subscript=state#subscripts+1"
 quit step_",check=base+(subscript*104729#999999937)#999999937,start=check#62"
 ;
value() ; what is written there
 quit "head_check_"":""_$extract(padding,start+1,start+room-$length(check))"
 ;
stamp ; what the values of the transaction have in common
 set base=worker*1000003+(sequence#1000000000000*7919)+(global*611953)
 set head=worker_":"_sequence_":",room=bytes-$length(head)-1
 quit
 ;
order(transactions,microseconds) ; transactions until there are enough, or the next would begin too late
 new done,end
 set done=0,end=$zut+microseconds,taken="t"
 for  do transaction set done=done+1 quit:done'<transactions!($zut'<end)
 write:timed taken,!
 quit
 ;
transaction ; one of them; what a restart undoes counts to the commit
 new base,head,room,first,begun,times,i,subscript,check,start,t1,t2,t3,t4,t5,t6,t7,t8,t9
 set sequence=sequence+1,first=state
 set begun=$zut
 do stamp
 if batch tstart ():transactionid="BATCH"
 else  tstart ()
 set state=first,times=begun
 set:$trestart times=$zut
 xecute update,rest
 set @record=sequence
 tcommit
 quit:'timed
 set taken=taken_begun_times_$zut
 ; The pipe has room until the order ends. A line may be longer than GT.M lets it be.
 if $length(taken)>3000 write taken set taken="",$x=1
 quit
 ;
fault ; an error that is not the end of the input
 new status set status=$zstatus
 set $etrap="halt"
 if $tlevel trollback
 use $principal write:$x ! write "! ",status,!
 halt
 ;
gone ; nobody is there any more
 halt
 ;
counts ; what this process did, as GT.M counts it
 new counts
 zshow "G":counts
 write ". ",counts("G",0),!
 quit
 ;
prove ; draws and values of a plan, as it would write them
 new $etrap set $etrap="do fault^RanWorker"
 new line,worker,global,subscripts,bytes,sequence,state,length,batch,padding,update,rest,record,timed,taken
 new base,head,room,i,subscript,check,start
 use $principal:(exception="do gone^RanWorker":width=1048576)
 read line
 set timed=0
 do plan(line),stamp
 set update="for i=1:1:length set "_$$drawn_" write subscript,"" "","_$$value_",!"
 xecute update
 write ".",!
 halt
 ;
bare ; transactions without taking their times: what taking them is held against
 new $etrap set $etrap="do fault^RanWorker"
 new line,worker,global,subscripts,bytes,sequence,state,length,batch,padding,update,rest,record,timed,taken
 use $principal:(exception="do gone^RanWorker":width=1048576)
 read line
 set timed=0
 do plan(line)
 if $data(@record)
 write ". ",$job,!
 for  read line do
 . do order($piece(line," ",1),$piece(line," ",2))
 . write ". ",sequence,!
 quit
