RanWalk ; walks globals: each entry answers on standard output and ends
 quit
 ;
begin ; errors are answered with "! STATUS"
 use $principal:(exception="do gone^RanWorker":width=1048576)
 quit
 ;
count ; counts the subscripts of the global whose number is given
 new $etrap set $etrap="do fault^RanWorker"
 new count,subscript
 do begin
 set count=0,subscript=""
 xecute "for  set subscript=$order(^RanWriteGlobal"_+$zcmdline_"(subscript)) quit:subscript=""""  set count=count+1"
 write ". ",count,!
 halt
 ;
values ; writes the subscripts of the global whose number is given, each with its value
 new $etrap set $etrap="do fault^RanWorker"
 new count,subscript,lines,end
 do begin
 ; A call of the system for each line would take longer than the walk.
 set subscript="",lines="",count=0,end=$char(10)
 xecute "for  set subscript=$order(^RanWriteGlobal"_+$zcmdline_"(subscript)) quit:subscript=""""  set lines=lines_subscript_"" ""_^(subscript)_end,count=count+1 if count#64=0 write $extract(lines,1,$length(lines)-1),! set lines="""""
 write lines,".",!
 halt
 ;
committed ; writes the last transaction of each worker
 new $etrap set $etrap="do fault^RanWorker"
 new name
 do begin
 set name="^RanWorker"
 for  set name=$order(@name) quit:name'?1"^RanWorker"1.N  write $extract(name,11,31)," ",@name,!
 write ".",!
 halt
 ;
drop ; removes the global whose number is given
 new $etrap set $etrap="do fault^RanWorker"
 do begin
 xecute "kill ^RanWriteGlobal"_+$zcmdline
 write ".",!
 halt
