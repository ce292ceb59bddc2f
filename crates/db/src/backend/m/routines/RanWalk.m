RanWalk ; walks globals: each entry reads what it is asked for, answers on standard output and ends
 ;
 ; The text is the same for every M database. The routine RanDialect has what differs between them. A subscript that is
 ; not a number ends a walk: numbers come first, and the node "Size" is no data.
 quit
 ;
asked() ; the number that is given on standard input
 new line
 do open^RanDialect
 read line
 quit +line
 ;
count ; counts the subscripts of the global whose number is given
 new $etrap set $etrap="do fault^RanDialect"
 new count,subscript,global
 set global=$$asked,count=0,subscript=""
 xecute "for  set subscript=$order(^RanWriteGlobal"_global_"(subscript)) quit:'subscript  set count=count+1"
 write ". ",count,!
 halt
 ;
values ; writes the subscripts of the global whose number is given, each with its value
 new $etrap set $etrap="do fault^RanDialect"
 new count,subscript,lines,end,global
 ; A call of the system for each line would take longer than the walk.
 set global=$$asked,subscript="",lines="",count=0,end=$char(10)
 xecute "for  set subscript=$order(^RanWriteGlobal"_global_"(subscript)) quit:'subscript  set lines=lines_subscript_"" ""_^(subscript)_end,count=count+1 if count#64=0 write $extract(lines,1,$length(lines)-1),! set lines="""""
 write lines,".",!
 halt
 ;
committed ; writes the last transaction of each worker, up to the number that is given
 new $etrap set $etrap="do fault^RanDialect"
 new worker,workers
 set workers=$$asked
 for worker=1:1:workers if $data(@("^RanWorker"_worker)) write worker," ",@("^RanWorker"_worker),!
 write ".",!
 halt
 ;
size ; records the size of a new global where the reference suite looks for it. The line is: global subscripts
 new $etrap set $etrap="do fault^RanDialect"
 new line,global
 do open^RanDialect
 read line
 set global=+$piece(line," ",1)
 set @("^RanWriteGlobal"_global_"(""Size"")")=+$piece(line," ",2),^RanWriteGlobalCount=global
 write ".",!
 halt
 ;
drop ; removes the global whose number is given, the record of its worker, and its part in the number of globals
 new $etrap set $etrap="do fault^RanDialect"
 new global
 set global=$$asked
 xecute "kill ^RanWriteGlobal"_global_",^RanWorker"_global
 if $get(^RanWriteGlobalCount)'<global set ^RanWriteGlobalCount=global-1
 write ".",!
 halt
